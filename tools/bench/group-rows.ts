/**
 * What is measured of groups, one function a row: how long a commit takes, how long a group of one takes to become a
 * settled group of two, how long a coordinator loads, and what many groups cost. Apache Kafka is asked the same where
 * it can be.
 */
import { createConsumerClient } from '../../runtime-real/sdk/consumer-client.ts';
import { pause } from '../peers/process.ts';
import { startNode } from '../testkit/testing.ts';
import { median, type Row } from './figures.ts';
import { measureCrowd } from './group-crowd.ts';
import { measureGroupLoad } from './group-load.ts';
import { commit, findCoordinator, openRaw, type RawClient } from './raw-client.ts';
import { type Side, type SideName, withSides } from './sides.ts';
import { syncAlone } from './sync-alone.ts';
import { append, type Plan, takeTurns } from './turns.ts';

/** Every row by its name, in the order of the report. */
export const GROUP_ROWS: ReadonlyMap<string, (plan: Plan) => Promise<Row[]>> = new Map([
  ['groups-commit', commitLatency],
  ['groups-join', joinWithDefaults],
  ['groups-join-testing', joinInTests],
  ['groups-load', loadMany],
  ['groups-crowd', crowd],
]);

const TOPIC = 'bench-groups';
const PARTITIONS = 4;
const NO_NULL: readonly SideName[] = ['null'];
const OURS_ALONE: readonly SideName[] = ['kafka', 'null'];
const CREATE_TOPICS = 19;
/** Commits before those that are measured. */
const WARM_UP = 200;
/** A group that is not settled within this never will be. */
const SETTLE_TIMEOUT_MS = 60_000;
/** How often members are looked at. */
const LOOK_MS = 2;
/** What a classic member in a test says: the broker cannot say it for it. */
const TEST_HEARTBEAT_MS = 20;

async function commitLatency(plan: Plan): Promise<Row[]> {
  const percentiles = new Map<string, Map<string, number[]>>();
  const disk: number[] = [];
  await withBrokers(plan, async (running) =>
    takeTurns(plan, running, 'commit, synced, p99', async (side) => {
      disk.push(syncAlone(plan.folder).get('p99') ?? Number.NaN);
      const client = await openRaw(side.port);
      await prepare(client);
      for (let i = 0; i < WARM_UP; i++) await commitOne(client, i);
      const waits: number[] = [];
      const untilMs = performance.now() + plan.seconds * 1000;
      for (let offset = WARM_UP; performance.now() < untilMs; offset++) {
        const sentMs = performance.now();
        await commitOne(client, offset);
        waits.push(performance.now() - sentMs);
      }
      client.close();
      waits.sort((a, b) => a - b);
      const at = (share: number): number => waits[Math.floor(share * waits.length)] ?? Number.NaN;
      append(percentiles, 'p50', side.name, at(0.5));
      append(percentiles, 'p99', side.name, at(0.99));
      return at(0.99);
    }),
  );
  return [...percentiles].map(([percentile, values]) => ({
    name: `commit, synced, ${percentile}`,
    unit: 'ms',
    higherIsBetter: false,
    values,
    without: NO_NULL,
    note: `fdatasync alone, p99, in between: ${median(disk).toFixed(2)} ms`,
    ...(percentile === 'p99' ? { budget: { must: 3, of: 'value' as const } } : {}),
  }));
}

/** The topic is there, and so is the coordinator of the group. */
async function prepare(client: RawClient): Promise<void> {
  const wanted = { name: TOPIC, numPartitions: PARTITIONS, replicationFactor: 1, assignments: [], configs: [] };
  await client.ask(CREATE_TOPICS, 5, { topics: [wanted], timeoutMs: 30_000, validateOnly: false });
  await findCoordinator(client, 'bench');
  // A broker may lead the partition of a group before it has heard of the topic that is read.
  for (let tries = 0; tries < 500; tries++) {
    if (await commit(client, 'bench', TOPIC, 1, 0)) return;
    await pause(LOOK_MS * 10);
  }
  throw new Error('offsets are not taken');
}

async function commitOne(client: RawClient, offset: number): Promise<void> {
  if (!(await commit(client, 'bench', TOPIC, 1, offset))) throw new Error('a commit was refused');
}

const PROTOCOLS = [
  { name: 'classic, cooperative-sticky', mustSeconds: 4, options: { assignors: ['cooperative-sticky'] } },
  { name: 'KIP-848', mustSeconds: 6, options: { groupProtocol: 'consumer' } },
] as const;

async function joinWithDefaults(plan: Plan): Promise<Row[]> {
  const rows: Row[] = [];
  await withBrokers(plan, async (running) => {
    for (const { name, mustSeconds, options } of PROTOCOLS) {
      const title = `a second member joins, ${name}`;
      let run = 0;
      const values = await takeTurns(plan, running, title, async (side) => {
        const client = await openRaw(side.port);
        await prepare(client);
        client.close();
        run += 1;
        return (await settleMs(side.bootstrap, `join-${name.slice(0, 3)}-${run}`, options)) / 1000;
      });
      const budget = { must: mustSeconds, of: 'value' as const };
      rows.push({ name: title, unit: 's', higherIsBetter: false, values, without: NO_NULL, budget });
    }
  });
  return rows;
}

/** The same with a node of `tidemark/testing`. */
async function joinInTests(plan: Plan): Promise<Row[]> {
  const rows: Row[] = [];
  const node = await startNode({ topics: { [TOPIC]: PARTITIONS } });
  try {
    for (const { name, options } of PROTOCOLS) {
      const values: number[] = [];
      const more = { ...options, heartbeatIntervalMs: TEST_HEARTBEAT_MS };
      // The first one warms up.
      for (let run = 0; run <= plan.pairs; run++) {
        const tookMs = await settleMs(node.bootstrap, `testing-${name.slice(0, 3)}-${run}`, more);
        if (run > 0) values.push(tookMs);
      }
      const title = `a second member joins in tidemark/testing, ${name}`;
      const budget = { must: 100, of: 'value' as const };
      const row = { name: title, unit: 'ms', higherIsBetter: false, without: OURS_ALONE, budget };
      rows.push({ ...row, values: new Map([['tidemark', values]]) });
    }
  } finally {
    await node.stop();
  }
  return rows;
}

type Member = ReturnType<typeof createConsumerClient>;

/** How long it takes, from the subscription of a second member, until both have their half. */
async function settleMs(
  bootstrap: string,
  groupId: string,
  options: Partial<Parameters<typeof createConsumerClient>[0]>,
): Promise<number> {
  const members: Member[] = [];
  let isOver = false;
  const open = (): Member => {
    const member = createConsumerClient({ bootstrap, groupId, reset: 'earliest', ...options });
    members.push(member);
    member.subscribe({ topics: [TOPIC] });
    return member;
  };
  const polling: Promise<void>[] = [];
  const poll = async (member: Member): Promise<void> => {
    while (!isOver) await member.poll(LOOK_MS * 10);
  };
  const has = async (counts: readonly number[]): Promise<void> => {
    const untilMs = performance.now() + SETTLE_TIMEOUT_MS;
    while (!counts.every((count, i) => members[i]?.assignment().length === count)) {
      if (performance.now() > untilMs) throw new Error(`group ${groupId} does not settle`);
      await pause(LOOK_MS);
    }
  };
  try {
    polling.push(poll(open()));
    await has([PARTITIONS]);
    const startedMs = performance.now();
    polling.push(poll(open()));
    await has([PARTITIONS / 2, PARTITIONS / 2]);
    return performance.now() - startedMs;
  } finally {
    isOver = true;
    await Promise.allSettled(polling);
    await Promise.allSettled(members.map((member) => member.close()));
  }
}

async function loadMany(plan: Plan): Promise<Row[]> {
  const { loadSeconds, processorSeconds, otherMsMax } = await measureGroupLoad(plan);
  const row = (name: string, unit: string, value: number, must: number, aim?: number): Row => ({
    name,
    unit,
    higherIsBetter: false,
    values: new Map([['tidemark', [value]]]),
    without: OURS_ALONE,
    budget: { must, ...(aim === undefined ? {} : { aim }), of: 'value' },
  });
  return [
    row('1,000,000 commits load', 's', loadSeconds, 3, 1),
    row('  processor time of the node from its start', 's', processorSeconds, 3),
    row('  longest other request meanwhile', 'ms', otherMsMax, 20),
  ];
}

async function crowd(plan: Plan): Promise<Row[]> {
  return measureCrowd(plan.say);
}

/** Starts Apache Kafka and Tidemark, synced, as far as they are asked for. */
function withBrokers(plan: Plan, use: (sides: readonly Side[]) => Promise<unknown>): Promise<unknown> {
  const names = plan.sides.filter((side) => side !== 'null');
  if (names.length === 0) throw new Error('neither Apache Kafka nor Tidemark was to be measured');
  return withSides(plan.folder, names, true, use);
}
