/**
 * Invariants of the coordinators that a node hosts: they are where their partitions are led, what they count is what
 * waits, and the groups in them are sound. Whether a live state is the replay of its log is not looked at here, as the
 * log is not in memory: the simulator reads it off its disks. No state of its own but how far each host was checked.
 */
import { checkCoordinator } from '../../coordination/coordinator.ts';
import { GROUP_MACHINE } from '../../group/machine.ts';
import { checkSomeGroups } from '../../group/state.ts';
import { assert } from '../../lib/assert.ts';
import { queueAt } from '../../lib/queue.ts';
import type { Node } from '../state.ts';

/** Members and partitions of theirs that one check looks at, of all hosts, about: it takes a few milliseconds. */
const LOOKS_MAX = 20_000;

/** Throws AssertionError if an invariant is broken. Costs the same however many groups there are. */
export function checkHosts({ groups }: Node): void {
  let waitersCount = 0;
  for (const host of groups.hosts) {
    const { partition, coordinator, awaiting, waiters } = host;
    assert(partition.host === host, 'a partition of groups does not know its coordinator');
    assert(partition.leader.epoch >= 0, 'groups are coordinated where they are not led');
    assert(awaiting.size === coordinator.parked.size, 'answers wait that are not known');
    assert(host.stage !== 'active' || coordinator.stage === 'active', 'a host is active before its machine');
    checkCoordinator(coordinator, GROUP_MACHINE);
    if (coordinator.state !== null) {
      host.checkedTo = checkSomeGroups(coordinator.state, host.checkedTo, LOOKS_MAX / groups.hosts.size);
    }
    waitersCount += waiters.size;
  }
  assert(waitersCount === groups.waitersCount, 'the count of calls that wait does not add up');
}

/** Throws AssertionError if what waits for other members is not what is charged for it. Walks over all requests. */
export function checkWaitingBytes({ groups, connections }: Node): void {
  let waitingBytes = 0;
  for (const { requests } of connections.values()) {
    for (let i = 0; i < requests.size; i++) waitingBytes += queueAt(requests, i).gather?.waitingBytes ?? 0;
  }
  assert(waitingBytes === groups.waitingBytes, 'the budget of what waits for other members does not add up');
}
