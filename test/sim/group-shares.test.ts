/** Who watches what generations share out misses what no member has and none is to give up. */
import { expect, test } from 'vitest';
import type { Node } from '../../core/broker/node.ts';
import { addMember, type ClassicGroup, createClassicGroup, createMember } from '../../core/group/classic-group.ts';
import { encodeAssignment, encodeSubscription } from '../../core/protocol/consumer-protocol.ts';
import { createGroupHistory } from '../../core/verify/group-history.ts';
import { createHistory } from '../../core/verify/history.ts';
import { TOPIC } from '../../runtime-sim/cast/casting.ts';
import { watchShares } from '../../runtime-sim/watch/group-shares.ts';

interface Part {
  readonly owned: readonly number[];
  readonly given: readonly number[];
}

function groupOf(parts: readonly Part[]): ClassicGroup {
  const group = createClassicGroup('g', 0);
  group.protocolName = 'cooperative-sticky';
  parts.forEach(({ owned, given }, at) => {
    const head = { memberId: `m${at}`, groupInstanceId: null, clientId: 'c', clientHost: '/' };
    const metadata = encodeSubscription({
      topics: [TOPIC],
      ownedPartitions: [{ topic: TOPIC, partitions: [...owned] }],
    });
    const protocols = [{ name: 'cooperative-sticky', metadata }];
    const assignment = encodeAssignment({ assignedPartitions: [{ topic: TOPIC, partitions: [...given] }] });
    const timeouts = { rebalanceTimeoutMs: 1, sessionTimeoutMs: 1 };
    addMember(group, createMember(head, timeouts, protocols, assignment), 'consumer');
  });
  group.state = 'Stable';
  group.subscribedTopics = new Set([TOPIC]);
  return group;
}

function foundIn(group: ClassicGroup): number[] {
  const history = createHistory([0, 1, 2].map((partition) => ({ topic: TOPIC, partition })));
  history.groups.push(createGroupHistory('g', 'classic'));
  const coordinator = { state: { groups: new Map([['g', group]]) } };
  const node = { groups: { hosts: new Set([{ stage: 'active', coordinator }]) } } as unknown as Node;
  watchShares(new Map(), history, node, 1);
  return history.complaints.map(({ partition }) => partition);
}

test('all is given to somebody', () => {
  expect(
    foundIn(
      groupOf([
        { owned: [], given: [0, 2] },
        { owned: [], given: [1] },
      ]),
    ),
  ).toEqual([]);
});

test('what one is to give up waits for it', () => {
  expect(
    foundIn(
      groupOf([
        { owned: [0, 1, 2], given: [0, 1] },
        { owned: [], given: [] },
      ]),
    ),
  ).toEqual([]);
});

test('what nobody has, and nobody is to give up, is missed', () => {
  expect(
    foundIn(
      groupOf([
        { owned: [], given: [0, 1] },
        { owned: [], given: [] },
      ]),
    ),
  ).toEqual([2]);
});

test('while a group makes a generation nothing is missed', () => {
  const group = groupOf([]);
  group.state = 'PreparingRebalance';
  expect(foundIn(group)).toEqual([]);
});
