/**
 * Clients whose clock is in sight: librdkafka and Kafka's own producer, each in a process of its own that sends at a
 * steady pace and says of every record when it was sent and when it was answered. Their clock is the machine's
 * monotonic one, which is read here too, so that their times and those of a kill compare.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needPython } from '../peers/clients.ts';
import { installKafka, javaArguments, peersFolder } from '../peers/kafka-broker.ts';
import { pause, serve } from '../peers/process.ts';

/** Who sends. */
export type AckClient = 'librdkafka' | 'java';

/** One record: sent, and answered. Milliseconds of `clockMs`. */
export interface Ack {
  readonly sentMs: number;
  readonly answeredMs: number;
  /** A Kafka error code, or one of the client's own; 0 for none. */
  readonly error: number;
}

/** A client that runs. */
export interface Acks {
  /** Everything that was answered so far, in that order. */
  readonly all: () => Ack[];
  /** Waits for the first of those sent at or after a time that was answered without error. */
  readonly firstAfter: (sentMs: number) => Promise<Ack>;
  readonly stop: () => Promise<void>;
}

/** What a client is to do. */
export interface AcksOptions {
  readonly bootstrap: string;
  readonly topic: string;
  readonly everyMs: number;
  /** Settings of the client, by its own names. */
  readonly settings?: ReadonlyMap<string, string>;
}

const JAVA_PROGRAM = fileURLToPath(new URL('../../../tools/bench/java/Acks.java', import.meta.url));
const PYTHON_PROGRAM = fileURLToPath(new URL('../../../tools/bench/python/acks.py', import.meta.url));
const PYTHON_SOURCES = fileURLToPath(new URL('../../../test/interop/clients/python', import.meta.url));
const LOOK_EVERY_MS = 50;
const ANSWER_TIMEOUT_MS = 60_000;

/** The machine's monotonic clock, as the clients read it. */
export function clockMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Starts a client; it is warm when it has had some answers. */
export async function startAcks(client: AckClient, options: AcksOptions): Promise<Acks> {
  const { bootstrap, topic, everyMs } = options;
  const settings = [...(options.settings ?? [])].map(([name, value]) => `${name}=${value}`);
  const args = [bootstrap, topic, String(everyMs), ...settings];
  const service = client === 'java' ? await startJava(args) : await startPython(args);
  const all = (): Ack[] => parseAcks(service.output());
  const firstAfter = async (sentMs: number): Promise<Ack> => {
    const untilMs = clockMs() + ANSWER_TIMEOUT_MS;
    while (clockMs() < untilMs && service.exitCode() === null) {
      const found = all().find((ack) => ack.sentMs >= sentMs && ack.error === 0);
      if (found !== undefined) return found;
      await pause(LOOK_EVERY_MS);
    }
    throw new Error(`${client} had no answer within ${ANSWER_TIMEOUT_MS} ms: ${service.output().slice(-2000)}`);
  };
  return { all, firstAfter, stop: async () => void (await service.stop()) };
}

async function startJava(args: readonly string[]): Promise<ReturnType<typeof serve>> {
  return serve('java', javaArguments(await installKafka(), '256m', JAVA_PROGRAM, args));
}

async function startPython(args: readonly string[]): Promise<ReturnType<typeof serve>> {
  const problem = await needPython(PYTHON_SOURCES);
  if (problem !== null) throw new Error(problem);
  const environment = { PYTHONPATH: join(peersFolder(), 'python', 'packages'), PYTHONDONTWRITEBYTECODE: '1' };
  return serve('python3', [PYTHON_PROGRAM, ...args], { environment });
}

/** Reads the lines of a client; what is no such line is its own talk. */
function parseAcks(text: string): Ack[] {
  const acks: Ack[] = [];
  for (const line of text.split('\n')) {
    const found = /^(\d+) (\d+) (-?\d+)$/.exec(line);
    if (found === null) continue;
    acks.push({ sentMs: Number(found[1]) / 1e6, answeredMs: Number(found[2]) / 1e6, error: Number(found[3]) });
  }
  return acks;
}
