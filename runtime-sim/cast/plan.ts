/**
 * Draws from a scenario what one seed does. Every draw has the site 'plan' or 'settings', so that a run's own draws are
 * free.
 */
import { below, between, chance, type Dice, pick, SITE } from '../dice.ts';
import type { AdministrationPlan, ClusterPlan, Plan, ProducerPlan, Range, Scenario, TroublePlan } from '../scenario.ts';
import { drawGroups } from './plan-groups.ts';

const ENTITY = {
  scenario: 0,
  shape: 1,
  producers: 100,
  troubles: 300,
  settings: 500,
  administration: 700,
  repeating: 750,
  repeatingBetween: 751,
  moving: 760,
  movingGroups: 761,
  voting: 770,
  cluster: 800,
  directories: 801,
  paces: 820,
  patience: 840,
  replaying: 900,
} as const;

/** So many partitions more, the last of the constant topic, to which hardly anybody writes: they must be well too. */
const RESTING = 1;

function drawn(dice: Dice, entity: number, range: Range): number {
  return between(dice, SITE.plan, entity, range[0], range[1]);
}

/** The scenario of a seed, each as often as its weight says. */
export function drawScenario(dice: Dice, scenarios: readonly Scenario[]): Scenario {
  let total = 0;
  for (const scenario of scenarios) total += scenario.weight;
  let at = below(dice, SITE.plan, ENTITY.scenario, total);
  for (const scenario of scenarios) {
    at -= scenario.weight;
    if (at < 0) return scenario;
  }
  throw new Error('there is no scenario');
}

/** What this seed does in this scenario. */
export function drawPlan(dice: Dice, scenario: Scenario, durationMs: number): Plan {
  const { workload } = scenario;
  const producers: ProducerPlan[] = [];
  const count = drawn(dice, ENTITY.shape, workload.producers);
  for (let i = 0; i < count; i++) producers.push(drawProducer(dice, i, scenario));
  const troubles: TroublePlan[] = [];
  scenario.troubles.forEach((range, index) => {
    const entity = ENTITY.troubles + index;
    const every = drawn(dice, entity, range.every);
    if (range.always === true || chance(dice, SITE.plan, entity, 500_000)) {
      troubles.push({ family: range.family, every, on: range.on ?? 'any' });
    }
  });
  const cluster = drawCluster(dice, scenario);
  return {
    scenario: scenario.name,
    durationMs,
    isUnlimited: scenario.isUnlimited === true,
    cluster,
    partitions: drawn(dice, ENTITY.shape, workload.partitions) + (cluster.nodes > 1 ? RESTING : 0),
    producers,
    repeatBetweenEveryMs:
      workload.repeatBetweenEveryMs === undefined
        ? null
        : drawn(dice, ENTITY.repeatingBetween, workload.repeatBetweenEveryMs),
    repeatEveryMs: workload.repeatEveryMs === undefined ? null : drawn(dice, ENTITY.repeating, workload.repeatEveryMs),
    moveEveryMs: workload.moveEveryMs === undefined ? null : drawn(dice, ENTITY.moving, workload.moveEveryMs),
    moveGroupsEveryMs:
      workload.moveGroupsEveryMs === undefined ? null : drawn(dice, ENTITY.movingGroups, workload.moveGroupsEveryMs),
    changeVotersEveryMs:
      workload.changeVotersEveryMs === undefined ? null : drawn(dice, ENTITY.voting, workload.changeVotersEveryMs),
    voterChangers: workload.changeVotersEveryMs === undefined ? 0 : pick(dice, SITE.plan, ENTITY.voting, [1, 1, 2, 3]),
    administration: drawAdministration(dice, scenario),
    groups: drawGroups(dice, scenario),
    settings: scenario.settings.map(
      (choice, index) => [choice.name, pick(dice, SITE.settings, ENTITY.settings + index, choice.values)] as const,
    ),
    troubles,
    chunkPpm: pick(dice, SITE.plan, ENTITY.shape, [0, 20_000, 150_000, 500_000]),
    jitterUs: pick(dice, SITE.plan, ENTITY.shape, [30, 100, 300, 2_000]),
    driftPpm: drawn(dice, ENTITY.shape, [-500, 500]),
    replayers: pick(dice, SITE.plan, ENTITY.shape, [1, 1, 2, 3]),
    areReplayersTogether: chance(dice, SITE.plan, ENTITY.replaying, 500_000),
    replayBytesMax: pick(dice, SITE.plan, ENTITY.replaying, [4_000, 30_000, 30_000]),
  };
}

function drawCluster(dice: Dice, { cluster, workload }: Scenario): ClusterPlan {
  if (cluster === undefined) return ALONE;
  const { nodes, replicas, inSyncMin, allowsUnclean = false } = cluster;
  const tailPpm = pick(dice, SITE.plan, ENTITY.cluster, cluster.tailPpm);
  const hasRacks = cluster.racks !== undefined || chance(dice, SITE.plan, ENTITY.cluster, 500_000);
  // Voters can only change where the log says who they are.
  const mustName = workload.changeVotersEveryMs !== undefined;
  const mayName = cluster.mayNameDirectories === true && chance(dice, SITE.plan, ENTITY.directories, 500_000);
  const drawn = { tailPpm, namesDirectories: mustName || mayName, hasRacks };
  return { nodes, replicas, inSyncMin, allowsUnclean, ...drawn, racks: cluster.racks ?? nodes };
}

const ALONE: ClusterPlan = {
  nodes: 1,
  replicas: 1,
  inSyncMin: 1,
  allowsUnclean: false,
  tailPpm: 0,
  namesDirectories: false,
  hasRacks: false,
  racks: 1,
};

/**
 * A quarter of the producers send seldom, and a quarter wait for hardly anything: one more way to lose an answer. And a
 * quarter ask again while what they asked first is still being done.
 */
function drawProducer(dice: Dice, number: number, scenario: Scenario): ProducerPlan {
  const { workload } = scenario;
  const entity = ENTITY.producers + number;
  const slowness = pick(dice, SITE.plan, ENTITY.paces + number, [1, 1, 1, 8]);
  const haste = pick(dice, SITE.plan, ENTITY.paces + number, [0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 400, 800]);
  const isIdempotent = below(dice, SITE.plan, entity, 100) < workload.idempotentPercent;
  return {
    isIdempotent,
    acks: isIdempotent ? -1 : pick(dice, SITE.plan, entity, workload.acks),
    codec: pick(dice, SITE.plan, entity, workload.codecs),
    inFlightMax: drawn(dice, entity, [1, 5]),
    lingerMs: pick(dice, SITE.plan, entity, [0, 0, 1, 5]),
    everyMs: drawn(dice, entity, workload.everyMs) * slowness,
    burstMax: drawn(dice, entity, workload.burstMax),
    valueBytesMax: drawn(dice, entity, workload.valueBytesMax),
    requestTimeoutMs: pick(dice, SITE.plan, ENTITY.patience + number, [2_000, 2_000, 2_000, 250]),
    deliveryTimeoutMs: haste > 0 ? haste : pick(dice, SITE.plan, entity, [1_500, 4_000, 15_000, 15_000]),
  };
}

function drawAdministration(dice: Dice, { workload }: Scenario): AdministrationPlan | null {
  const { administration } = workload;
  const entity = ENTITY.administration;
  if (administration === undefined || below(dice, SITE.plan, entity, 100) >= administration.percent) return null;
  return {
    administrators: drawn(dice, entity, administration.administrators),
    topics: drawn(dice, entity, administration.topics),
    partitionsMax: drawn(dice, entity, administration.partitionsMax),
    everyMs: drawn(dice, entity, administration.everyMs),
    deletePercent: drawn(dice, entity, administration.deletePercent),
    attemptsMax: pick(dice, SITE.plan, entity, [1, 1, 3]),
  };
}
