/**
 * Kills a node that stands still, so that its clients learn of it. A process that is stopped, that collects garbage
 * without end or that loops keeps its connections: the cluster puts another in its place after
 * `broker.session.timeout.ms`, but a client that waits for an answer on one of them hears nothing of that. Once the
 * process is dead its kernel closes them, and clients ask elsewhere at once.
 *
 * The watchdog is a process of its own, for nothing inside of one that is stopped can act. It counts its own ticks and
 * not the time, so that a machine that slept as a whole, the watchdog with it, is not taken for a node that hangs. What
 * was acknowledged is safe: the node dies as by `kill -9`. The watchdog ends with the node, however that ends.
 */
import { spawn } from 'node:child_process';

/** Ticks in the time that a node may stand still. */
const TICKS = 20;

/** Kills this process when it has stood still for `timeoutMs`. `lost` is called when nobody watches any more. */
export function startWatchdog(timeoutMs: number, lost: (reason: string) => void): void {
  const tickMs = Math.ceil(timeoutMs / TICKS);
  const program = `(${watch.toString()})(${process.pid}, ${tickMs}, ${TICKS})`;
  const child = spawn(process.execPath, ['--eval', program], { stdio: ['pipe', 'ignore', 'inherit'] });
  const beat = setInterval(() => child.stdin.write('.'), tickMs).unref();
  const giveUp = (reason: string): void => {
    clearInterval(beat);
    lost(reason);
  };
  child.once('error', (error) => giveUp(error.message));
  child.once('exit', (code, signal) => giveUp(`it ended with ${code ?? signal}`));
  // Written to after its end, which `exit` tells of.
  child.stdin.on('error', () => undefined);
  child.unref();
  // A pipe of a child is a socket, which keeps a process alive as any.
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
}

/** The whole program of the watchdog, handed over as text: it can use nothing but what Node gives to every program. */
function watch(pid: number, tickMs: number, ticks: number): void {
  let left = ticks;
  // Whoever stops the node from a terminal stops all of its group: the node ends first, in its own time.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  process.stdin.on('data', () => {
    left = ticks;
  });
  process.stdin.on('end', () => process.exit(0));
  setInterval(() => {
    left -= 1;
    if (left > 0) return;
    process.stderr.write(`tidemark: the node has stood still for ${tickMs * ticks} ms; its watchdog ends it\n`);
    process.kill(pid, 'SIGKILL');
    process.exit(0);
  }, tickMs);
}
