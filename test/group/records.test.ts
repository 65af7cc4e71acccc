/** The records of a log of groups: what is not known is passed over, what makes no sense is said, any order loads. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addMember, createClassicGroup, createMember, NO_BYTES } from '../../core/group/classic-group.ts';
import { generationRecord, generationSize } from '../../core/group/classic-written.ts';
import { decodeRecord, encodeRecord, groupRecord, tombstone } from '../../core/group/records.ts';
import { checkGroups } from '../../core/group/state.ts';
import { encodeGroupRecord, type GroupRecord, type KeyedBytes } from '../../core/protocol/group-records.ts';
import { committed, enter, join, stateOf } from './classic.ts';
import { advance, awaited, createCoordinator, failOver } from './coordinator.ts';

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

/** A coordinator that has loaded this log. */
function loaded(log: readonly KeyedBytes[]) {
  const coordinator = createCoordinator({ initialRebalanceDelayMs: 0 });
  failOver(coordinator, log);
  checkGroups(coordinator.state);
  return coordinator;
}

describe('a record', () => {
  it('of groups that are not served is passed over', () => {
    const entry = { key: bytes(0, 11, 0, 1, 103), value: bytes(0, 0, 1, 2, 3) };
    expect(decodeRecord(entry)).toEqual({ record: { kind: 'foreign' } });
    expect(loaded([entry]).state.groups.size).toBe(0);
  });

  it('that makes no sense is said to be so', () => {
    const { key, value } = encodeRecord(groupRecord('GroupMetadata', { group: 'g' }, emptyGeneration()));
    const whole = value ?? expect.fail();
    const broken = [
      { key: bytes(0), value },
      { key: new Uint8Array([...key, 0]), value },
      { key, value: whole.subarray(0, whole.length - 1) },
      { key, value: bytes(0, 99, ...whole.subarray(2)) },
    ];
    for (const entry of broken) {
      expect(decodeRecord(entry)).toEqual({
        problem: expect.stringMatching(/^A record of the groups cannot be read: /),
      });
    }
  });

  it('of an offset as old brokers wrote it means the same', () => {
    const key = { group: 'g', topic: 'orders', partition: 1 };
    const value = { offset: 7, metadata: '', commitTimestamp: 1 };
    const old = encodeGroupRecord({ kind: 'LegacyOffsetCommit', version: 0, key, value });
    expect(committed(loaded([old]), 1)).toBe(7);
    const gone = encodeGroupRecord({ kind: 'LegacyOffsetCommit', version: 0, key, value: null });
    expect(committed(loaded([old, gone]), 1)).toBe(-1);
  });

  it('has the version that Kafka 4.4 writes', () => {
    const offset = { offset: 7, metadata: '', commitTimestamp: 1 };
    const key = { group: 'g', topic: 'orders', partition: 1 };
    const versions = [
      groupRecord('GroupMetadata', { group: 'g' }, emptyGeneration()),
      groupRecord('OffsetCommit', key, offset),
      groupRecord('OffsetCommit', key, { ...offset, expireTimestamp: 9 }),
      groupRecord('ConsumerGroupMetadata', { groupId: 'g' }, { epoch: 1 }),
    ].map(({ version }) => version);
    expect(versions).toEqual([3, 4, 1, 0]);
  });
});

describe('the record of a generation', () => {
  it('takes no more than it is held for, whatever its members are called', () => {
    const group = createClassicGroup('g', 1);
    group.protocolName = 'range';
    const names = { memberId: '\u3042'.repeat(10_000), groupInstanceId: null, clientId: '', clientHost: '' };
    const member = createMember(names, { rebalanceTimeoutMs: 1, sessionTimeoutMs: 1 }, [], NO_BYTES);
    addMember(group, member, 'consumer');
    const { key, value } = encodeRecord(generationRecord(group, () => NO_BYTES));
    expect(key.length + (value?.length ?? 0)).toBeLessThanOrEqual(generationSize(group, () => NO_BYTES));
  });
});

function emptyGeneration() {
  return { protocolType: '', generation: 0, protocol: null, leader: null, members: [] };
}

const member = fc.record({
  memberId: fc.constantFrom('m1', 'm2', 'm3'),
  groupInstanceId: fc.constantFrom(null, 'i1', 'i2'),
  clientId: fc.constant('client'),
  clientHost: fc.constant('/127.0.0.1'),
  rebalanceTimeout: fc.constantFrom(-1, 0, 5000),
  sessionTimeout: fc.constantFrom(0, 6000, 10_000),
  subscription: fc.uint8Array({ maxLength: 8 }),
  assignment: fc.uint8Array({ maxLength: 4 }),
});

const record: fc.Arbitrary<GroupRecord> = fc.oneof(
  fc
    .record({
      protocolType: fc.constantFrom('', 'consumer', 'connect'),
      generation: fc.nat(5),
      protocol: fc.constantFrom(null, 'range'),
      leader: fc.constantFrom(null, 'm1', 'm4'),
      currentStateTimestamp: fc.constantFrom(-1, 1000),
      members: fc.array(member, { maxLength: 3 }),
    })
    .map((value) => groupRecord('GroupMetadata', { group: 'g' }, value)),
  fc.constant(tombstone('GroupMetadata', { group: 'g' })),
  fc.nat(2).map((partition) => tombstone('OffsetCommit', { group: 'g', topic: 'orders', partition })),
  fc.tuple(fc.nat(2), fc.nat(9)).map(([partition, offset]) => {
    const value = { offset, metadata: '', commitTimestamp: 1 };
    return groupRecord('OffsetCommit', { group: 'g', topic: 'orders', partition }, value);
  }),
  fc.constant(groupRecord('ConsumerGroupMetadata', { groupId: 'g' }, { epoch: 3 })),
  fc.constant(tombstone('ConsumerGroupMetadata', { groupId: 'g' })),
);

describe('a log in any order', () => {
  it('loads, and the group that comes of it can be joined once it is at rest', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (records) => {
        const coordinator = loaded(records.map(encodeRecord));
        // Whoever was in it is not heard of.
        advance(coordinator, 60_000);
        if (coordinator.state.groups.has('g')) expect(['Empty', 'Dead']).toContain(stateOf(coordinator));
        awaited(coordinator, enter(coordinator).joining);
        expect(join(coordinator, { groupInstanceId: 'i1' }).response).toBeNull();
      }),
      { numRuns: 150 },
    );
  });
});
