/** Members of the consumer protocol, for tests: what each sends, with as little said as may be. */
import { expect } from 'vitest';
import { topicById } from '../../core/metadata/image.ts';
import { mapGet } from '../../core/metadata/sharded-map.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { ask, type Coordinator, TOPICS } from './coordinator.ts';

/** What a test says in a heartbeat. */
export type Saying = Partial<RequestInputOf<68>> & { readonly version?: number; readonly clientId?: string };

/** A heartbeat of group 'g', whatever it hears. */
export function say(coordinator: Coordinator, said: Saying): ResponseOf<68> {
  const { version = 1, clientId = 'client', ...body } = said;
  return ask(coordinator, 68, version, { groupId: 'g', memberId: 'm', memberEpoch: 0, ...body }, clientId);
}

/** A member as its client keeps it. */
export interface Consumer {
  readonly memberId: string;
  readonly instanceId: string | null;
  epoch: number;
  /** 'topic-partition', sorted. */
  owned: readonly string[];
  /** What it heard last that it is to have. */
  told: readonly string[];
}

/** What a member says when it joins. */
export type Joining = Omit<Saying, 'memberEpoch' | 'topicPartitions'> & { readonly topics?: readonly string[] };

/** Joins group 'g': 'orders' and a minute to give back, if not said otherwise. */
export function joinAs(coordinator: Coordinator, memberId: string, said: Joining = {}): Consumer {
  const { topics = ['orders'], ...more } = said;
  const consumer: Consumer = { memberId, instanceId: said.instanceId ?? null, epoch: 0, owned: [], told: [] };
  const response = say(coordinator, {
    memberId,
    rebalanceTimeoutMs: 60_000,
    subscribedTopicNames: [...topics],
    topicPartitions: [],
    ...more,
  });
  expect(response).toMatchObject({ errorCode: ErrorCode.NONE, memberId });
  hear(coordinator, consumer, response);
  return consumer;
}

function hear(coordinator: Coordinator, consumer: Consumer, response: ResponseOf<68>): void {
  consumer.epoch = response.memberEpoch;
  if (response.assignment !== null) {
    consumer.told = namesOf(coordinator, response.assignment.topicPartitions);
    // What is new is read at once; what is gone is given back with the next heartbeat.
    consumer.owned = consumer.told;
  }
}

/** Partitions by the names of their topics, or ids of those which are gone. */
export function namesOf(
  coordinator: Coordinator,
  list: readonly { readonly topicId: string; readonly partitions: readonly number[] }[],
): string[] {
  const names = list.flatMap(({ topicId, partitions }) =>
    partitions.map((partition) => `${topicById(coordinator.image, topicId)?.name ?? topicId}-${partition}`),
  );
  return names.sort();
}

/** Partitions as a request has them. */
export function partitionsOf(
  coordinator: Coordinator,
  names: readonly string[],
): { topicId: string; partitions: number[] }[] {
  const byTopic = new Map<string, number[]>();
  for (const name of names) {
    const at = name.lastIndexOf('-');
    const topic = name.slice(0, at);
    byTopic.set(topic, [...(byTopic.get(topic) ?? []), Number(name.slice(at + 1))]);
  }
  return [...byTopic].map(([topic, partitions]) => ({ topicId: idOfTopic(coordinator, topic), partitions }));
}

function idOfTopic(coordinator: Coordinator, name: string): string {
  // A client knows the id of a topic that is gone.
  return mapGet(coordinator.image.topics.idByName, name) ?? new Map(Object.entries(TOPICS)).get(name) ?? name;
}

/** A heartbeat that says what the member owns, and does what it hears. */
export function beat(coordinator: Coordinator, consumer: Consumer, said: Saying = {}): ResponseOf<68> {
  const response = say(coordinator, {
    memberId: consumer.memberId,
    instanceId: consumer.instanceId,
    memberEpoch: consumer.epoch,
    topicPartitions: partitionsOf(coordinator, consumer.owned),
    ...said,
  });
  if (response.errorCode === ErrorCode.NONE) hear(coordinator, consumer, response);
  return response;
}

/** A heartbeat that says nothing new. */
export function pulse(coordinator: Coordinator, consumer: Consumer): ResponseOf<68> {
  return beat(coordinator, consumer, { topicPartitions: null });
}

/** Heartbeats of all in turn, until nobody hears anything new: how many rounds it took. */
export function settleAll(coordinator: Coordinator, consumers: readonly Consumer[]): number {
  for (let round = 0; round < 20; round++) {
    coordinator.wallMs += 1_000;
    const before = coordinator.log.length;
    for (const consumer of consumers) expect(beat(coordinator, consumer).errorCode).toBe(ErrorCode.NONE);
    if (coordinator.log.length === before) return round;
  }
  return expect.fail('the group does not settle');
}

/** The group 'g' as it is described. */
export function describeIt(coordinator: Coordinator, groupId = 'g'): ResponseOf<69>['groups'][number] {
  const response = ask(coordinator, 69, 1, { groupIds: [groupId], includeAuthorizedOperations: false });
  return response.groups[0] ?? expect.fail('the group is not in the answer');
}
