/**
 * How long a coordinator takes to load a partition of `__consumer_offsets` that holds a million commits, and how long
 * others wait for it meanwhile: a daemon is filled over the wire, stopped, and started again on its folder.
 *
 * A tenth of the commits is what counts at the end: each is replaced nine times, as commits are.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pause, processorMs } from '../peers/process.ts';
import { NEVER, startTidemark, type TidemarkNode } from '../peers/tidemark.ts';
import { commit, findCoordinator, openRaw } from './raw-client.ts';
import type { Plan } from './turns.ts';

/** What was measured. */
export interface GroupLoadFigures {
  /** As the node says. */
  readonly loadSeconds: number;
  /** Of the whole process, from its start until the groups were loaded. */
  readonly processorSeconds: number;
  readonly otherMsMax: number;
}

const COMMITS = 1_000_000;
const GROUPS = 1_000;
const PARTITIONS = 100;
const TOPIC = 'bench-load';
const API_VERSIONS = 18;
const LOAD_TIMEOUT_MS = 120_000;
const LOADED = /"records":(\d+),"tookMs":(\d+),"msg":"groups are loaded"/;

/** Fills, stops, starts and measures. */
export async function measureGroupLoad({ folder, say }: Plan): Promise<GroupLoadFigures> {
  const dataFolder = mkdtempSync(join(folder, 'groups-'));
  const settings = new Map([
    ['offsets.topic.num.partitions', '1'],
    ['tidemark.topics', `${TOPIC}:${PARTITIONS}`],
    ['log.flush.interval.messages', NEVER],
  ]);
  try {
    const first = await startTidemark({ dataFolder, settings });
    await fill(first, say);
    await first.service.stop();
    const second = await startTidemark({ dataFolder, settings });
    try {
      return await watch(second);
    } finally {
      await second.service.stop();
    }
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

async function fill({ port }: TidemarkNode, say: (line: string) => void): Promise<void> {
  const client = await openRaw(port);
  await findCoordinator(client, 'bench');
  for (let offset = 0; offset < COMMITS / (GROUPS * PARTITIONS); offset++) {
    say(`groups-load: ${offset * GROUPS * PARTITIONS} of ${COMMITS} commits`);
    for (let group = 0; group < GROUPS; group++) {
      if (await commit(client, `group-${group}`, TOPIC, PARTITIONS, offset)) continue;
      throw new Error('commits were refused');
    }
  }
  client.close();
}

async function watch({ port, pid, service }: TidemarkNode): Promise<GroupLoadFigures> {
  const client = await openRaw(port);
  const untilMs = performance.now() + LOAD_TIMEOUT_MS;
  let otherMsMax = 0;
  while (performance.now() < untilMs) {
    const said = LOADED.exec(service.output());
    if (said !== null) {
      const processorSeconds = processorMs(pid) / 1000;
      client.close();
      if (Number(said[1]) < COMMITS) throw new Error(`only ${said[1]} records were loaded`);
      return { loadSeconds: Number(said[2]) / 1000, processorSeconds, otherMsMax };
    }
    const sentMs = performance.now();
    await client.ask(API_VERSIONS, 0, { clientSoftwareName: '', clientSoftwareVersion: '' });
    otherMsMax = Math.max(otherMsMax, performance.now() - sentMs);
    await pause(1);
  }
  throw new Error(`the groups were not loaded: ${service.output().slice(-2000)}`);
}
