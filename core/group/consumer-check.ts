/** What is true of a consumer group between any two calls: for tests and the simulator, which look after each. */
import { assert } from '../lib/assert.ts';
import { type ConsumerGroup, ownerOf } from './consumer-state.ts';

/** Throws AssertionError if an invariant is broken. Costs a walk over all members and what they have. */
export function checkConsumerGroup(group: ConsumerGroup): void {
  let classicCount = 0;
  let ownedCount = 0;
  for (const [memberId, member] of group.members) {
    assert(member.memberId === memberId, 'a member is known by its id');
    if (member.classic !== null) classicCount += 1;
    if (member.instanceId !== null) {
      assert(group.staticMembers.get(member.instanceId) === memberId, 'an instance has one member');
    }
    for (const owned of [member.assigned, member.revoking]) {
      for (const [topicId, partitions] of owned) {
        ownedCount += partitions.size;
        for (const partition of partitions.keys()) {
          assert(ownerOf(group, topicId, partition) === memberId, 'a partition has one owner, who has it');
        }
      }
    }
  }
  for (const partitions of group.owners.values()) ownedCount -= partitions.size;
  assert(ownedCount === 0, 'every owner has what it owns, once');
  assert(classicCount === group.classicCount, 'members of the classic protocol are counted');
  assert(group.targetEpoch <= group.epoch, 'no target is of an epoch to come');
}
