/** The groups of a run: their members, and who else stores offsets for them, as the plan has drawn them. */
import type { ConsumerOptions } from '../../core/client/consumer-options.ts';
import { createGroupHistory, type GroupHistory } from '../../core/verify/group-history.ts';
import type { GroupPlan, MemberPlan, Plan } from '../scenario.ts';
import { CLEARING, type ClearingOptions } from '../workload/clearing.ts';
import { CONSUMING } from '../workload/consuming.ts';
import type { ConsumingOptions, Wanted } from '../workload/consuming-state.ts';
import type { Observer } from '../workload/observer.ts';
import { STORING, type StoringOptions } from '../workload/storing.ts';
import { addActor, startAt, type World } from '../world.ts';
import { ADMIN_TIMEOUT_MS, bootstrapOf, REQUEST_TIMEOUT_MS, RETRY_BACKOFF_MS, TOPIC } from './casting.ts';

/** A frozen process goes on at the latest after so long, so that some come back before their session is over. */
const FROZEN_MS_MAX = 14_000;
const HEARTBEAT_MS = 500;
/** As the nodes are told by `QUICK_GROUPS`. */
const CONSUMER_SESSION_MS = 6_000;
/** All names that mean the topic that is always there, and those that come and go. */
const PATTERN = '(ord|com).*';

/** What all members of a group are cast with. */
interface Stage {
  readonly world: World;
  readonly observer: Observer;
  readonly plan: Plan;
  readonly group: GroupPlan;
  readonly history: GroupHistory;
  /** When members begin. */
  readonly fromUs: number;
}

/** Adds the members of all groups, which begin soon after `fromUs`. */
export function addGroups(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  plan.groups.forEach((group, index) => {
    const history = createGroupHistory(`group-${index + 1}`, group.kind);
    observer.history.groups.push(history);
    const stage: Stage = { world, observer, plan, group, history, fromUs };
    group.members.forEach((member, at) => {
      const atUs = fromUs + 35_000 + at * 150_000;
      addMember(stage, member, at, false, atUs);
      if (member.hasTwin) addMember(stage, member, at, true, atUs + member.twinAfterMs * 1000);
    });
    if (group.clearEveryMs !== null) addClearer(stage, group.clearEveryMs, fromUs);
    const { storeEveryMs, watchEveryMs, storers, areTools } = group;
    for (let at = 0; storeEveryMs !== null && at < storers; at++) {
      const name = `storer${at === 0 ? '' : `-${at + 1}`}`;
      addStorer(stage, name, at, { everyMs: storeEveryMs, isTool: areTools, isWatcher: false });
    }
    // It goes on with the coordinator that it knows.
    if (watchEveryMs !== null) {
      addStorer(stage, 'watcher', 3, { everyMs: watchEveryMs, isTool: false, isWatcher: true });
    }
  });
}

function constantNumbers({ partitions }: Plan): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}

function wantedOf({ plan, group }: Stage, { isByPattern }: MemberPlan): Wanted {
  if (group.kind === 'simple') return { assigned: [{ topic: TOPIC, partitions: constantNumbers(plan) }] };
  return isByPattern ? { pattern: PATTERN } : { topics: [TOPIC] };
}

/** Adds a process that is a member; the second one of its instance leaves its place to the first in the end. */
function addMember(stage: Stage, member: MemberPlan, at: number, isSecond: boolean, atUs: number): void {
  const { world, observer, plan, group, history } = stage;
  const name = `${history.groupId}-${at + 1}`;
  const clientId = isSecond ? `${name}-twin` : name;
  const { kind, assignors } = group;
  const options: ConsumingOptions = {
    observer,
    group: history,
    protocols: kind === 'both' ? ['classic', 'consumer'] : kind === 'consumer' ? ['consumer'] : ['classic'],
    lastProtocol: group.lastProtocol,
    to: wantedOf(stage, member),
    commits: member.commits,
    pollEveryMs: member.pollEveryMs,
    pollBytes: member.pollBytes,
    listenerMsMax: member.listenerMsMax,
    troubleEveryMs: member.troubleEveryMs,
    frozenMsMax: FROZEN_MS_MAX,
    sessionMs: CONSUMER_SESSION_MS,
    hasTwin: member.hasTwin,
    isPassing: isSecond || member.isPassing,
    isVanishing: member.isVanishing,
    rests: group.rests,
    restsFromUs: stage.fromUs,
    consumer: {
      ...commonOf(plan, history, clientId, at),
      instanceId: member.isStatic ? name : null,
      assignors,
      serverAssignor: member.serverAssignor,
      sessionTimeoutMs: member.sessionTimeoutMs,
      heartbeatIntervalMs: HEARTBEAT_MS,
      maxPollIntervalMs: member.maxPollIntervalMs,
      reset: 'earliest',
      autoCommit: member.isAuto,
      autoCommitIntervalMs: 400,
      maxWaitMs: 250,
    },
  };
  startAt(world, addActor(world, clientId, 'client', CONSUMING, options), atUs);
}

function commonOf(plan: Plan, { groupId }: GroupHistory, clientId: string, at: number): CommonOptions {
  return {
    clientId,
    bootstrap: bootstrapOf(plan, at),
    groupId,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    apiTimeoutMs: 10_000,
    retryBackoffMs: RETRY_BACKOFF_MS,
    metadataMaxAgeMs: 5_000,
    createsTopics: false,
  };
}

type CommonOptions = Omit<ConsumerOptions, 'ids' | 'seed' | 'memberId' | 'groupProtocol'>;

function addClearer({ world, observer, plan, history }: Stage, everyMs: number, fromUs: number): void {
  const clientId = `${history.groupId}-clearer`;
  const options: ClearingOptions = {
    observer,
    group: history,
    partitions: constantNumbers(plan),
    everyMs,
    admin: {
      clientId,
      bootstrap: bootstrapOf(plan, 1),
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      timeoutMs: ADMIN_TIMEOUT_MS,
      attemptsMax: 8,
      retryBackoffMs: RETRY_BACKOFF_MS,
    },
  };
  startAt(world, addActor(world, clientId, 'client', CLEARING, options), fromUs + 90_000);
}

function addStorer(
  stage: Stage,
  name: string,
  at: number,
  how: Pick<StoringOptions, 'everyMs' | 'isTool' | 'isWatcher'>,
): void {
  const { world, observer, plan, history, fromUs } = stage;
  const clientId = `${history.groupId}-${name}`;
  const options: StoringOptions = {
    observer,
    group: history,
    partitions: constantNumbers(plan),
    ...how,
    consumer: { ...commonOf(plan, history, clientId, 2 + at), autoCommit: false },
  };
  startAt(world, addActor(world, clientId, 'client', STORING, options), fromUs + 80_000 + at * 30_000);
}
