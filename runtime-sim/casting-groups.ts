/** The groups of consumers of a run: their members, as the plan has drawn them. */
import { createGroupHistory, type GroupHistory } from '../core/verify/group-history.ts';
import type { Actor } from './actor.ts';
import { bootstrapOf, REQUEST_TIMEOUT_MS, RETRY_BACKOFF_MS, TOPIC } from './casting.ts';
import type { GroupPlan, MemberPlan, Plan } from './scenario.ts';
import { CONSUMING, type ConsumingOptions } from './workload/consuming.ts';
import type { Observer } from './workload/observer.ts';
import { addActor, startAt, type World } from './world.ts';

/** A frozen process goes on at the latest after so long, so that some come back before their session is over. */
const FROZEN_MS_MAX = 14_000;
const HEARTBEAT_MS = 500;
/** All names that mean the topic that is always there. */
const PATTERN = 'ord.*s';

/** Adds the members of all groups, which begin soon after `fromUs`. */
export function addGroups(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  plan.groups.forEach((group, index) => {
    const history = createGroupHistory(`group-${index + 1}`, group.protocol);
    observer.history.groups.push(history);
    group.members.forEach((member, at) => {
      const actor = addMember(world, observer, plan, { group, member, history, at });
      startAt(world, actor, fromUs + 35_000 + at * 150_000);
    });
  });
}

function addMember(
  world: World,
  observer: Observer,
  plan: Plan,
  {
    group,
    member,
    history,
    at,
  }: { readonly group: GroupPlan; readonly member: MemberPlan; readonly history: GroupHistory; readonly at: number },
): Actor {
  const clientId = `${history.groupId}-${at + 1}`;
  const options: ConsumingOptions = {
    observer,
    group: history,
    to: member.isByPattern ? { pattern: PATTERN } : { topics: [TOPIC] },
    commits: member.commits,
    pollEveryMs: member.pollEveryMs,
    troubleEveryMs: member.troubleEveryMs,
    frozenMsMax: FROZEN_MS_MAX,
    consumer: {
      clientId,
      bootstrap: bootstrapOf(plan, at),
      groupId: history.groupId,
      groupProtocol: group.protocol,
      instanceId: member.isStatic ? clientId : null,
      assignors: group.assignors,
      serverAssignor: member.serverAssignor,
      sessionTimeoutMs: member.sessionTimeoutMs,
      heartbeatIntervalMs: HEARTBEAT_MS,
      maxPollIntervalMs: member.maxPollIntervalMs,
      reset: 'earliest',
      autoCommit: member.isAuto,
      autoCommitIntervalMs: 400,
      maxWaitMs: 250,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      apiTimeoutMs: 10_000,
      retryBackoffMs: RETRY_BACKOFF_MS,
      metadataMaxAgeMs: 5_000,
      createsTopics: false,
    },
  };
  return addActor(world, clientId, 'client', CONSUMING, options);
}
