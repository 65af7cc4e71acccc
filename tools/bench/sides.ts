/**
 * The brokers that are compared, each started the same way on the same disk: Apache Kafka, Tidemark, and the null
 * broker. A side's data lies in a folder of its own under one parent and goes with it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bodyBytes } from '../../core/protocol/compile.ts';
import { RequestHeader } from '../../core/protocol/headers.ts';
import { ApiVersions } from '../../core/protocol/messages/18-api-versions.ts';
import { startKafka } from '../peers/kafka-broker.ts';
import { freePort, mustOwnPort, pause, serve, waitForPort } from '../peers/process.ts';
import { NEVER, startTidemark } from '../peers/tidemark.ts';

/** Who is measured. */
export type SideName = 'kafka' | 'tidemark' | 'null';

/** A broker under measurement. */
export interface Side {
  readonly name: SideName;
  readonly pid: number;
  readonly port: number;
  readonly bootstrap: string;
  /** Milliseconds from the start of the process to its first answer. */
  readonly startMs: number;
  readonly stop: () => Promise<void>;
}

const NULL_START_TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 60_000;
const PROBE_INTERVAL_MS = 2;

/**
 * Starts a side with an empty disk. `synced`: every batch is on the disk before its answer; otherwise neither side ever
 * asks for that. Kafka runs with the heap and the flags of its own start script.
 */
export async function startSide(name: SideName, synced: boolean, parentFolder: string): Promise<Side> {
  const settings = new Map([['log.flush.interval.messages', synced ? '1' : NEVER]]);
  const port = await freePort();
  const startedMs = performance.now();
  const answered = firstAnswer(port).then(() => performance.now());
  answered.catch(() => {}); // It is awaited below, unless the process does not even start.
  const started = await startProcess(name, port, settings, parentFolder);
  // Kafka's folder is formatted before its process starts, which is not part of a start.
  const startMs = (await answered) - (started.startedMs ?? startedMs);
  await mustOwnPort(started.pid, port);
  return { name, pid: started.pid, port, bootstrap: `127.0.0.1:${port}`, startMs, stop: started.stop };
}

/** Starts sides whose data lies in `folder`, hands them over, and stops them whatever happens. */
export async function withSides<T>(
  folder: string,
  names: readonly SideName[],
  synced: boolean,
  use: (sides: readonly Side[]) => Promise<T>,
): Promise<T> {
  const sides: Side[] = [];
  try {
    for (const name of names) sides.push(await startSide(name, synced, folder));
    return await use(sides);
  } finally {
    for (const side of sides) await side.stop();
  }
}

interface StartedProcess {
  readonly pid: number;
  readonly startedMs?: number;
  readonly stop: () => Promise<void>;
}

async function startProcess(
  name: SideName,
  port: number,
  settings: ReadonlyMap<string, string>,
  parentFolder: string,
): Promise<StartedProcess> {
  if (name === 'kafka') {
    const kafka = await startKafka({ settings, parentFolder, port });
    return { pid: kafka.pid, startedMs: kafka.startedMs, stop: kafka.stop };
  }
  if (name === 'tidemark') {
    const dataFolder = mkdtempSync(join(parentFolder, 'tidemark-'));
    const node = await startTidemark({ settings, dataFolder, port });
    const stop = async (): Promise<void> => {
      await node.service.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    };
    return { pid: node.pid, stop };
  }
  const program = fileURLToPath(new URL('./null-broker.js', import.meta.url));
  const service = serve(process.execPath, [program, '--port', String(port)]);
  await waitForPort(service, port, NULL_START_TIMEOUT_MS);
  return { pid: service.pid, stop: async () => void (await service.stop()) };
}

/** Asks for ApiVersions until a broker on the port answers. */
async function firstAnswer(port: number): Promise<void> {
  const untilMs = performance.now() + ANSWER_TIMEOUT_MS;
  while (performance.now() < untilMs) {
    if (await ask(port)) return;
    await pause(PROBE_INTERVAL_MS);
  }
  throw new Error(`nothing on port ${port} answered within ${ANSWER_TIMEOUT_MS} ms`);
}

function ask(port: number): Promise<boolean> {
  const header = { requestApiKey: ApiVersions.key, requestApiVersion: 0, correlationId: 1, clientId: 'bench' };
  const head = bodyBytes(RequestHeader, 1, header);
  const body = bodyBytes(ApiVersions.request, 0, { clientSoftwareName: '', clientSoftwareVersion: '' });
  const prefix = Buffer.alloc(4);
  prefix.writeInt32BE(head.length + body.length);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', () => socket.write(Buffer.concat([prefix, head, body])));
    socket.on('data', () => end(true));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });
}
