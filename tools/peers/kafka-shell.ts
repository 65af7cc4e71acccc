/**
 * Apache Kafka's command-line tools in one process that stays, for tests that run many of them: each then takes a few
 * hundred milliseconds and not seconds. A tool that changes the state of its process would be seen by the next; none of
 * those in use does.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installKafka, javaArguments } from './kafka-broker.ts';
import { KAFKA_TOOLS } from './kafka-tools.ts';
import type { Finished } from './process.ts';

/** Runs tools, one after the other. */
export interface KafkaShell {
  /** Runs a tool by its name, or any class by its full name. Resolves when those before it have ended too. */
  readonly run: (tool: string, args: readonly string[], inputFile?: string) => Promise<Finished>;
  readonly stop: () => void;
}

const FOLDER = fileURLToPath(new URL('./java/', import.meta.url).href.replace('/dist/tools/', '/tools/'));
const PROGRAM = join(FOLDER, 'Tools.java');
/** What tools log belongs to what they print. */
const LOGGING = `-Dlog4j2.configurationFile=${join(FOLDER, 'log4j2.properties')}`;
const HEAP = '256m';

interface Asked {
  readonly startedMs: number;
  readonly resolve: (finished: Finished) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the process. */
export async function startKafkaShell(): Promise<KafkaShell> {
  const home = await installKafka();
  const usual = javaArguments(home, HEAP, PROGRAM, []);
  const args = usual.map((word) => (word.startsWith('-Dlog4j2.configurationFile=') ? LOGGING : word));
  const child = spawn('java', ['-XX:TieredStopAtLevel=1', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = (): void => void child.kill('SIGKILL');
  process.on('exit', end);
  const asked: Asked[] = [];
  let failure: Error | null = null;
  let bytes = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let answer = takeAnswer(bytes); answer !== null; answer = takeAnswer(bytes)) {
      const first = asked.shift();
      first?.resolve({ ...answer.finished, tookMs: performance.now() - first.startedMs });
      bytes = bytes.subarray(answer.sizeBytes);
    }
  });
  child.on('close', (code) => {
    process.off('exit', end);
    failure = new Error(`the process of the tools has ended with ${code}`);
    for (const { reject } of asked.splice(0)) reject(failure);
  });
  child.stdin.on('error', end);
  const run: KafkaShell['run'] = (tool, toolArgs, inputFile = '') =>
    new Promise((resolve, reject) => {
      if (failure !== null) {
        reject(failure);
        return;
      }
      asked.push({ startedMs: performance.now(), resolve, reject });
      child.stdin.write(`${[inputFile, KAFKA_TOOLS.get(tool) ?? tool, ...toolArgs].join('\t')}\n`);
    });
  return { run, stop: end };
}

/** The first whole answer; null while there is none. */
function takeAnswer(bytes: Buffer): { finished: Omit<Finished, 'tookMs'>; sizeBytes: number } | null {
  const lineEnd = bytes.indexOf(0x0a);
  if (lineEnd < 0) return null;
  const [code = 1, outBytes = 0, errBytes = 0] = bytes.toString('utf8', 0, lineEnd).split(' ').map(Number);
  const at = lineEnd + 1;
  const sizeBytes = at + outBytes + errBytes;
  if (bytes.length < sizeBytes) return null;
  const stdout = bytes.toString('utf8', at, at + outBytes);
  return { finished: { code, stdout, stderr: bytes.toString('utf8', at + outBytes, sizeBytes) }, sizeBytes };
}
