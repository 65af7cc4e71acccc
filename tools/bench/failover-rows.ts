/**
 * How long clients wait when a node is lost, one function a row: replication factor 3, min.insync.replicas 2, a topic
 * of one partition, so that whoever leads it is known. Each try takes a fresh client, because which node a client spoke
 * to first decides what it notices; a cluster is whole again before the next.
 *
 * A figure is the time from the signal to the answer to the first record that was sent after it.
 */
import type { ClusterSideName } from './cluster-sides.ts';
import { type AckClient, type Acks, clockMs, startAcks } from './failover-acks.ts';
import { type FailoverSide, startFailoverSide } from './failover-sides.ts';
import type { Row } from './figures.ts';
import type { SideName } from './sides.ts';
import type { Budget, Plan } from './turns.ts';

/** Every row by its name, in the order of the report. `pairs` of the plan are the tries. */
export const FAILOVER_ROWS: ReadonlyMap<string, (plan: Plan) => Promise<Row[]>> = new Map([
  ['failover-leader-librdkafka', (plan: Plan) => loseLeader(plan, 'librdkafka', 'SIGKILL', { must: 1, aim: 0.5 })],
  ['failover-leader-java', (plan: Plan) => loseLeader(plan, 'java', 'SIGKILL', { must: 1, aim: 0.5 })],
  ['failover-controller', loseController],
  ['failover-stopped', (plan: Plan) => loseLeader(plan, 'librdkafka', 'SIGSTOP', null)],
  [
    'failover-stopped-watched',
    (plan: Plan) => loseLeader(plan, 'librdkafka', 'SIGSTOP', { must: 4, aim: 3.2 }, WATCHED),
  ],
  ['failover-rolling', rolling],
]);

const TOPIC = 'failover';
/** A record so often: what is between two of them is what a figure may be wrong by. */
const EVERY_MS = 10;
const WARM_ACKS = 10;
const WARM_TIMEOUT_MS = 60_000;
const NO_NULL: readonly SideName[] = ['null'];
/** Short ones, as who is asked for quick fail-over sets it. */
const SOCKET_TIMEOUT = new Map([['socket.timeout.ms', '5000']]);
const PERCENTILE = 0.999;
const NO_SETTINGS: ReadonlyMap<string, string> = new Map();
/**
 * As the files in `examples` start three nodes. One that stands still is killed when another leads already: its session
 * is over after 3 s.
 */
const WATCHED = new Map([['tidemark.watchdog.timeout.ms', '3000']]);

async function loseLeader(
  plan: Plan,
  client: AckClient,
  signal: 'SIGKILL' | 'SIGSTOP',
  budget: Budget | null,
  ours = NO_SETTINGS,
): Promise<Row[]> {
  const isWatched = ours === WATCHED;
  const what = `${signal === 'SIGSTOP' ? signal : 'kill -9'} of a leader${isWatched ? ' with a watchdog' : ''}`;
  const name = `${what}, to the next answer (${client})`;
  const measured = isWatched ? { ...plan, sides: plan.sides.filter((side) => side === 'tidemark') } : plan;
  const values = await onSides(measured, name, ours, async (side) => {
    const settings = signal === 'SIGSTOP' ? SOCKET_TIMEOUT : new Map<string, string>();
    const acks = await startAcks(client, { bootstrap: side.bootstrap, topic: TOPIC, everyMs: EVERY_MS, settings });
    try {
      await warm(acks, client);
      const [nodeId, controller] = [await side.leaderOf(TOPIC), await side.controller()];
      const atMs = clockMs();
      side.signal(nodeId, signal);
      const tookMs = (await acks.firstAfter(atMs)).answeredMs - atMs;
      const failed = acks.all().filter(({ error }) => error !== 0).length;
      const who = `node ${nodeId}${nodeId === controller ? ', the active controller' : ''}`;
      plan.say(`  ${side.name}: ${who}: ${tookMs.toFixed(0)} ms, ${failed} failed`);
      await acks.stop();
      await giveBack(side, nodeId, isWatched ? 'SIGKILL' : signal);
      return tookMs / 1000;
    } finally {
      await acks.stop();
    }
  });
  const row = { name, unit: 's', higherIsBetter: false, values, without: NO_NULL };
  return [budget === null ? row : { ...row, budget: { ...budget, of: 'value' } }];
}

/** To the next topic that is created, at whichever broker is left. */
async function loseController(plan: Plan): Promise<Row[]> {
  const name = 'kill -9 of the active controller, to the next topic created';
  const values = await onSides(plan, name, NO_SETTINGS, async (side, turn) => {
    const nodeId = await side.controller();
    const atMs = clockMs();
    side.signal(nodeId, 'SIGKILL');
    await side.createTopic(`${TOPIC}-${turn}`);
    const tookMs = clockMs() - atMs;
    await giveBack(side, nodeId, 'SIGKILL');
    return tookMs / 1000;
  });
  const budget = { must: 2, aim: 1, of: 'value' as const };
  return [{ name, unit: 's', higherIsBetter: false, values, without: NO_NULL, budget }];
}

/** The node that was lost is there again, and in sync. */
async function giveBack(side: FailoverSide, nodeId: number, signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  if (signal === 'SIGSTOP') side.signal(nodeId, 'SIGCONT');
  else await side.ended(nodeId).then(() => side.restart(nodeId));
  await side.whole();
}

async function warm(acks: Acks, client: AckClient): Promise<void> {
  const untilMs = clockMs() + WARM_TIMEOUT_MS;
  for (let seen = 0; seen < WARM_ACKS; seen++) {
    await acks.firstAfter(clockMs());
    if (clockMs() > untilMs) throw new Error(`${client} did not become warm`);
  }
}

/** Every node in turn is asked to stop, ends, and comes back, while clients send. */
async function rolling(plan: Plan): Promise<Row[]> {
  const rows: Row[] = [];
  for (const client of ['librdkafka', 'java'] as const) {
    const name = `rolling restart (${client})`;
    const failures = new Map<string, number[]>();
    const longest = new Map<string, number[]>();
    const values = await onSides(plan, name, NO_SETTINGS, async (side) => {
      const acks = await startAcks(client, { bootstrap: side.bootstrap, topic: TOPIC, everyMs: EVERY_MS });
      try {
        await warm(acks, client);
        const fromMs = clockMs();
        for (let nodeId = 1; nodeId <= 3; nodeId++) await restart(side, nodeId);
        await acks.firstAfter(clockMs());
        const all = acks.all().filter(({ sentMs }) => sentMs >= fromMs);
        const tookMs = all.map(({ sentMs, answeredMs }) => answeredMs - sentMs).sort((a, b) => a - b);
        push(failures, side.name, all.filter(({ error }) => error !== 0).length);
        push(longest, side.name, tookMs.at(-1) ?? Number.NaN);
        return tookMs[Math.floor(tookMs.length * PERCENTILE)] ?? Number.NaN;
      } finally {
        await acks.stop();
      }
    });
    const common = { higherIsBetter: false, without: NO_NULL };
    const of = 'value' as const;
    rows.push(
      { ...common, name: `${name}, p99.9`, unit: 'ms', values, budget: { must: 500, of } },
      { ...common, name: `${name}, longest`, unit: 'ms', values: longest },
      { ...common, name: `${name}, failed`, unit: 'records', values: failures, budget: { must: 0, of } },
    );
  }
  return rows;
}

async function restart(side: FailoverSide, nodeId: number): Promise<void> {
  side.signal(nodeId, 'SIGTERM');
  const code = await side.ended(nodeId);
  if (side.name === 'tidemark' && code !== 0) throw new Error(`node ${nodeId} ended with ${code} when asked to stop`);
  await side.restart(nodeId);
  await side.whole();
}

/** Runs all tries of one side, then of the next: two clusters at once would be in each other's way. */
async function onSides(
  plan: Plan,
  title: string,
  ours: ReadonlyMap<string, string>,
  measure: (side: FailoverSide, turn: number) => Promise<number>,
): Promise<Map<string, number[]>> {
  const values = new Map<string, number[]>();
  for (const name of plan.sides.filter((one): one is ClusterSideName => one !== 'null')) {
    const side = await startFailoverSide(name, plan.folder, ours);
    try {
      await side.createTopic(TOPIC);
      await side.whole();
      for (let turn = 0; turn < plan.pairs; turn++) {
        const value = await measure(side, turn);
        push(values, name, value);
        plan.say(`${title}: ${name} ${value.toFixed(3)}`);
      }
    } finally {
      await side.stop();
    }
  }
  return values;
}

function push(into: Map<string, number[]>, side: string, value: number): void {
  into.set(side, [...(into.get(side) ?? []), value]);
}
