/**
 * Where an episode takes place: namespaces of its own for the network, for mounts and for processes. They end with the
 * process that runs in them, however that ends, and the kernel takes along whatever was started, mounted or laid there.
 *
 * What it takes: Linux, root, `unshare`, `ip`, `iptables`, `mount`. Where something is missing that is said.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { needProgram } from '../peers/clients.ts';
import { run, runOrThrow } from '../peers/process.ts';

/** Tells the program that it runs in the arena. Not a name that a daemon would take for a setting. */
const INSIDE = 'TROUBLES_INSIDE';
const UNSHARE = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Where `ip` keeps the names of namespaces; covered, so that ours are ours alone. */
const NAMES = '/run/netns';

/** Whether this process runs in an arena. */
export function isInside(): boolean {
  return process.env[INSIDE] !== undefined;
}

/** Why there can be no arena here, or null. In CI a missing program is an error. */
export async function arenaProblem(): Promise<string | null> {
  if (process.platform !== 'linux') return 'troubles need Linux';
  if (process.getuid?.() !== 0) return 'troubles need root: they make namespaces and mounts';
  for (const [program, pack] of [
    ['unshare', 'util-linux'],
    ['mount', 'mount'],
    ['ip', 'iproute2'],
    ['iptables', 'iptables'],
  ] as const) {
    const problem = await needProgram(program, pack);
    if (problem !== null) return problem;
  }
  const tried = await run('unshare', [...UNSHARE, 'iptables', '-S']);
  return tried.code === 0 ? null : `this machine allows no namespaces, or no iptables in them: ${tried.stderr.trim()}`;
}

/** Runs this very program again, in an arena. Resolves to its exit code. */
export function runInside(): Promise<number> {
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn('unshare', [...UNSHARE, ...command], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' },
  });
  // It heeds no other signal while it waits for its child, which goes with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGKILL'));
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
}

/** Covers what would else be shared with the machine. Once, before anything is laid. */
export async function enterArena(): Promise<void> {
  mkdirSync(NAMES, { recursive: true });
  await runOrThrow('mount', ['-t', 'tmpfs', 'names', NAMES]);
}

/** Mounts a file system of so many bytes, in memory. */
export async function mountSmall(folder: string, sizeBytes: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await runOrThrow('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'small', folder]);
}

/** Unmounts it again. */
export async function unmount(folder: string): Promise<void> {
  await runOrThrow('umount', [folder]);
}
