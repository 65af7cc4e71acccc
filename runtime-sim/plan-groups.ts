/** Draws from a scenario which groups of consumers there are. Every draw has entities of its own. */
import { below, between, chance, type Dice, pick, SITE } from './dice.ts';
import type { GroupPlan, MemberPlan, Scenario } from './scenario.ts';

/** Of the groups; each group and each member has one of its own above it. */
const GROUPS = 900;
const MEMBERS_MAX = 20;

/** The groups of this seed; none where the scenario has none. */
export function drawGroups(dice: Dice, { workload }: Scenario): GroupPlan[] {
  const { groups: range } = workload;
  if (range === undefined) return [];
  const [low, high] = range.groups;
  const count = between(dice, SITE.plan, GROUPS, low, high);
  return Array.from({ length: count }, (_, index): GroupPlan => {
    const entity = GROUPS + 1 + index * (MEMBERS_MAX + 1);
    const protocol = pick(dice, SITE.plan, entity, ['classic', 'consumer'] as const);
    const assignors = pick(dice, SITE.plan, entity, [
      ['range'],
      ['cooperative-sticky'],
      ['roundrobin'],
      ['sticky'],
      ['range', 'cooperative-sticky'],
    ] as const);
    const members = between(dice, SITE.plan, entity, range.members[0], Math.min(range.members[1], MEMBERS_MAX));
    const drawn = Array.from({ length: members }, (__, member) => {
      return drawMember(dice, entity + 1 + member, range.troubleEveryMs);
    });
    return { protocol, assignors, members: drawn };
  });
}

function drawMember(dice: Dice, entity: number, troubleEveryMs: readonly [number, number]): MemberPlan {
  const commits = pick(dice, SITE.plan, entity, ['sync', 'async', 'none'] as const);
  return {
    isStatic: chance(dice, SITE.plan, entity, 250_000),
    isAuto: commits === 'none' || below(dice, SITE.plan, entity, 4) === 0,
    commits,
    isByPattern: chance(dice, SITE.plan, entity, 250_000),
    pollEveryMs: between(dice, SITE.plan, entity, 5, 120),
    maxPollIntervalMs: pick(dice, SITE.plan, entity, [3_000, 3_000, 6_000, 15_000]),
    sessionTimeoutMs: pick(dice, SITE.plan, entity, [6_000, 12_000]),
    troubleEveryMs: between(dice, SITE.plan, entity, troubleEveryMs[0], troubleEveryMs[1]),
    serverAssignor: pick(dice, SITE.plan, entity, ['uniform', 'range', null]),
  };
}
