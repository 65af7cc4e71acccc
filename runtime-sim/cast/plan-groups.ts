/** Draws from a scenario which groups of consumers there are. Every draw has entities of its own. */
import { below, between, chance, type Dice, pick, SITE } from '../dice.ts';
import type { GroupPlan, GroupsRange, MemberPlan, Rest, Scenario } from '../scenario.ts';

/** Of the groups; each group and each member has one of its own above it. */
const GROUPS = 900;
const MEMBERS_MAX = 20;
/** The second of two processes of one instance begins so long after the first at most. */
const TWIN_AFTER_MS_MAX = 2_500;
/** How long a rebalance waits for a member, where it waits for none for long. */
const BRISK_MS = 3_000;
/** Members rest as often at most: in as much time as any run has. */
const RESTS_MAX = 12;
/** Between two rests. */
const AT_WORK_MS: readonly [number, number] = [2_000, 9_000];
const AT_REST_MS: readonly [number, number] = [300, 5_000];

/** The groups of this seed; none where the scenario has none. */
export function drawGroups(dice: Dice, { workload }: Scenario): GroupPlan[] {
  const { groups: range } = workload;
  if (range === undefined) return [];
  const count = between(dice, SITE.plan, GROUPS, range.groups[0], range.groups[1]);
  const simple = between(dice, SITE.plan, GROUPS, range.simple[0], range.simple[1]);
  return Array.from({ length: count + simple }, (_, index): GroupPlan => {
    const entity = GROUPS + 1 + index * (MEMBERS_MAX + 1);
    return index < count ? drawGroup(dice, entity, range) : drawSimple(dice, entity, range);
  });
}

function drawGroup(dice: Dice, entity: number, range: GroupsRange): GroupPlan {
  const protocol = pick(dice, SITE.plan, entity, ['classic', 'consumer'] as const);
  const assignors = pick(dice, SITE.plan, entity, [
    ['range'],
    ['cooperative-sticky'],
    ['cooperative-sticky'],
    ['cooperative-sticky'],
    ['roundrobin'],
    ['sticky'],
    ['range', 'cooperative-sticky'],
  ] as const);
  const members = between(dice, SITE.plan, entity, range.members[0], Math.min(range.members[1], MEMBERS_MAX));
  const kind = below(dice, SITE.plan, entity, 100) < range.bothPercent ? 'both' : protocol;
  const isStored = below(dice, SITE.plan, entity, 100) < range.storedPercent;
  // Who turns from one protocol to the other has enough to do with itself.
  const twinPercent = kind === 'both' ? 0 : range.twinPercent;
  const hasPassing = members > 1 && below(dice, SITE.plan, entity, 100) < range.passingPercent;
  const isVanishing = chance(dice, SITE.plan, entity, 500_000);
  // One member that may stay away for long makes all others wait for it: only without one is a generation missed.
  const isBrisk = chance(dice, SITE.plan, entity, 400_000);
  const staticPercent = pick(dice, SITE.plan, entity, [25, 50, 50, 80]);
  const drawn = Array.from({ length: members }, (_, at) => {
    const member = drawMember(dice, entity + 1 + at, range.troubleEveryMs, twinPercent, staticPercent);
    const isPassing = hasPassing && at === members - 1;
    const maxPollIntervalMs = isBrisk ? BRISK_MS : member.maxPollIntervalMs;
    return { ...member, maxPollIntervalMs, isPassing, isVanishing: isPassing && isVanishing };
  });
  return {
    kind,
    lastProtocol: protocol,
    assignors,
    members: drawn,
    storeEveryMs: isStored ? drawPace(dice, entity) : null,
    ...drawStorers(dice, entity),
    clearEveryMs: drawClearing(dice, entity, range),
    watchEveryMs: drawWatch(dice, entity, range),
    rests: below(dice, SITE.plan, entity, 100) < range.restingPercent ? drawRests(dice, entity) : [],
  };
}

function drawSimple(dice: Dice, entity: number, range: GroupsRange): GroupPlan {
  const { troubleEveryMs } = range;
  const drawn = drawMember(dice, entity + 1, troubleEveryMs, 0, 0);
  const alone = { ...drawn, isStatic: false, isByPattern: false };
  const isStored = chance(dice, SITE.plan, entity, 500_000);
  const storeEveryMs = isStored ? drawPace(dice, entity) : null;
  const members = [alone];
  return {
    kind: 'simple',
    lastProtocol: 'classic',
    assignors: ['range'],
    members,
    storeEveryMs,
    ...drawStorers(dice, entity),
    clearEveryMs: drawClearing(dice, entity, range),
    watchEveryMs: drawWatch(dice, entity, range),
    rests: [],
  };
}

function drawClearing(dice: Dice, entity: number, { clearedPercent }: GroupsRange): number | null {
  return below(dice, SITE.plan, entity, 100) < clearedPercent ? between(dice, SITE.plan, entity, 300, 3_000) : null;
}

function drawWatch(dice: Dice, entity: number, { watchedPercent }: GroupsRange): number | null {
  return below(dice, SITE.plan, entity, 100) < watchedPercent ? between(dice, SITE.plan, entity, 100, 500) : null;
}

function drawRests(dice: Dice, entity: number): Rest[] {
  let fromMs = 0;
  return Array.from({ length: RESTS_MAX }, () => {
    fromMs += between(dice, SITE.plan, entity, ...AT_WORK_MS);
    const toMs = fromMs + between(dice, SITE.plan, entity, ...AT_REST_MS);
    const rest = { fromMs, toMs, isSilent: below(dice, SITE.plan, entity, 4) === 0 };
    fromMs = toMs;
    return rest;
  });
}

function drawStorers(dice: Dice, entity: number): Pick<GroupPlan, 'storers' | 'areTools'> {
  return { storers: pick(dice, SITE.plan, entity, [1, 2, 3]), areTools: chance(dice, SITE.plan, entity, 600_000) };
}

function drawPace(dice: Dice, entity: number): number {
  return between(dice, SITE.plan, entity, 300, 2_000);
}

function drawMember(
  dice: Dice,
  entity: number,
  troubleEveryMs: readonly [number, number],
  twinPercent: number,
  staticPercent: number,
): MemberPlan {
  const commits = pick(dice, SITE.plan, entity, ['sync', 'async', 'none'] as const);
  const isStatic = below(dice, SITE.plan, entity, 100) < staticPercent;
  return {
    isStatic,
    isAuto: commits === 'none' || below(dice, SITE.plan, entity, 4) === 0,
    commits,
    isByPattern: chance(dice, SITE.plan, entity, 250_000),
    pollEveryMs: between(dice, SITE.plan, entity, 5, 120),
    maxPollIntervalMs: pick(dice, SITE.plan, entity, [3_000, 3_000, 6_000, 15_000]),
    sessionTimeoutMs: pick(dice, SITE.plan, entity, [6_000, 12_000]),
    troubleEveryMs: between(dice, SITE.plan, entity, troubleEveryMs[0], troubleEveryMs[1]),
    serverAssignor: pick(dice, SITE.plan, entity, ['uniform', 'range', null]),
    hasTwin: isStatic && below(dice, SITE.plan, entity, 100) < twinPercent,
    isPassing: false,
    isVanishing: false,
    pollBytes: pick(dice, SITE.plan, entity, [20_000, 20_000, 1]),
    listenerMsMax: pick(dice, SITE.plan, entity, [60, 800, 5_000, 5_000]),
    twinAfterMs: below(dice, SITE.plan, entity, TWIN_AFTER_MS_MAX),
  };
}
