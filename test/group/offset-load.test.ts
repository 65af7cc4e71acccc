/**
 * Committed offsets are loaded in place of their bytes: it comes to the same as decoding and replaying each record,
 * however the log is cut into batches and the batches into portions; and what is malformed is said to be so.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { portionOf, takeIn } from '../../core/broker/groups/unpack.ts';
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { GROUP_MACHINE } from '../../core/group/machine.ts';
import { createGroupState, type GroupState, sameHardState } from '../../core/group/state.ts';
import { CODEC_GZIP, type Codec } from '../../core/protocol/compression.ts';
import { encodeGroupRecord, type KeyedBytes } from '../../core/protocol/group-records.ts';
import { type BatchOptions, encodeBatch } from '../../core/protocol/records.ts';
import { FAKE_CODECS } from '../log/world.ts';
import { idOf } from '../metadata/cluster.ts';
import { loadedFrom } from './coordinator.ts';

const key = fc.record({
  group: fc.constantFrom('g', 'h', 'gruppe-ü'),
  topic: fc.constantFrom('orders', 'payments'),
  partition: fc.nat({ max: 3 }),
});
const value = fc.record({
  offset: fc.oneof(fc.maxSafeNat(), fc.constant(-1)),
  leaderEpoch: fc.integer({ min: -1, max: 9 }),
  metadata: fc.constantFrom('', 'text', 'ä€'),
  commitTimestamp: fc.maxSafeNat(),
  expireTimestamp: fc.constantFrom(-1, 1_700_000_000_000),
  topicId: fc.constantFrom(idOf(0), idOf(1), idOf(257)),
});

const offset = fc.tuple(key, value, fc.integer({ min: 0, max: 4 })).map(([about, said, version]) => {
  // What a version has no room for is at its default.
  const fitting = {
    ...said,
    leaderEpoch: version >= 3 ? said.leaderEpoch : -1,
    expireTimestamp: version === 1 ? said.expireTimestamp : -1,
    topicId: version === 4 ? said.topicId : idOf(0),
  };
  return encodeGroupRecord({ kind: 'OffsetCommit', version, key: about, value: fitting });
});
const legacy = fc
  .tuple(key, fc.record({ offset: fc.nat(), metadata: fc.constant('old'), commitTimestamp: fc.nat() }))
  .map(([about, said]) => encodeGroupRecord({ kind: 'LegacyOffsetCommit', version: 0, key: about, value: said }));
const gone = fc
  .tuple(key, fc.constantFrom('OffsetCommit' as const, 'LegacyOffsetCommit' as const))
  .map(([about, kind]) => encodeGroupRecord({ kind, version: 0, key: about, value: null }));
const generation = fc.constantFrom('g', 'h').map((group) => {
  const said = { protocolType: 'consumer', generation: 3, protocol: 'range', leader: null, currentStateTimestamp: 5 };
  return encodeGroupRecord({ kind: 'GroupMetadata', version: 3, key: { group }, value: { ...said, members: [] } });
});
const noGroup = fc.constantFrom('g', 'h').map((group) => {
  return encodeGroupRecord({ kind: 'GroupMetadata', version: 0, key: { group }, value: null });
});
const epoch = fc.constantFrom('g', 'h').map((groupId) => {
  return encodeGroupRecord({ kind: 'ConsumerGroupMetadata', version: 0, key: { groupId }, value: { epoch: 2 } });
});
const foreign = fc.constant({ key: new Uint8Array([0, 99]), value: null });
const entry: fc.Arbitrary<KeyedBytes> = fc.oneof(
  { arbitrary: offset, weight: 8 },
  { arbitrary: fc.oneof(legacy, gone, generation, noGroup, epoch, foreign), weight: 4 },
);
const batches = fc.array(fc.tuple(fc.array(entry, { minLength: 1, maxLength: 6 }), fc.boolean()), { maxLength: 12 });

/** What a host makes of whole batches, so many records at a time. */
function taken(parts: readonly Uint8Array[], countMax: number): { state: GroupState; records: number; next: number } {
  const state = createGroupState(GROUP_DEFAULTS);
  const portion = portionOf(parts);
  let records = 0;
  let next = 0;
  for (let step = 0; portion.at < portion.bytes.length; step++) {
    expect(step, 'it comes to its end').toBeLessThan(1_000);
    const { count, place } = takeIn(portion, FAKE_CODECS, countMax, {
      state,
      other: (one, at) => {
        const decoded = GROUP_MACHINE.decode(one);
        if ('problem' in decoded) expect.fail(decoded.problem);
        else GROUP_MACHINE.load(state, [decoded.record], at, false);
      },
    });
    expect(count).toBeLessThanOrEqual(countMax);
    records += count;
    next = place?.nextOffset ?? next;
  }
  return { state, records, next };
}

describe('a log of offsets', () => {
  it('loads to the same as record by record, in whatever batches and portions', () => {
    fc.assert(
      fc.property(batches, fc.integer({ min: 2, max: 20 }), fc.boolean(), (log, countMax, isWhole) => {
        const parts: Uint8Array[] = [];
        let baseOffset = 100;
        for (const [entries, isCompressed] of log) {
          const records = entries.map((one) => ({ timestampMs: 5, ...one }));
          const packed: BatchOptions = isCompressed ? { codec: CODEC_GZIP as Codec, codecs: FAKE_CODECS } : {};
          const bytes = encodeBatch(records, { baseOffset, leaderEpoch: 3, ...packed });
          // As the log keeps what it appended lately: the head by itself.
          if (isWhole) parts.push(bytes);
          else parts.push(bytes.subarray(0, 16), bytes.subarray(16));
          baseOffset += entries.length;
        }
        const all = log.flatMap(([entries]) => entries);
        const { state, records, next } = taken(parts, countMax);
        expect(sameHardState(state, loadedFrom(all))).toBe(true);
        expect([...state.groups.keys()].sort()).toEqual([...loadedFrom(all).groups.keys()].sort());
        expect(records).toBe(all.length);
        if (all.length > 0) expect(next).toBe(baseOffset);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused where it is malformed', () => {
    const about = { group: 'g', topic: 'orders', partition: 1 };
    const said = { offset: 7, metadata: '', commitTimestamp: 1, topicId: idOf(1) };
    const sound = encodeGroupRecord({ kind: 'OffsetCommit', version: 4, key: about, value: said });
    const whole = sound.value ?? expect.fail();
    const broken = [
      { key: sound.key.subarray(0, 5), value: whole },
      { key: new Uint8Array([...sound.key, 0]), value: whole },
      { key: sound.key, value: whole.subarray(0, whole.length - 1) },
      { key: sound.key, value: new Uint8Array([...whole, 0]) },
      { key: sound.key, value: new Uint8Array([0, 5, ...whole.subarray(2)]) },
      { key: new Uint8Array([0, 0, ...sound.key.subarray(2)]), value: whole },
    ];
    for (const one of broken) {
      expect(() => taken([encodeBatch([{ timestampMs: 5, ...one }])], 10)).toThrow();
      expect(GROUP_MACHINE.decode(one)).toHaveProperty('problem');
    }
    const batch = encodeBatch([{ timestampMs: 5, ...sound }]);
    expect(() => taken([batch.subarray(0, batch.length - 1)], 10)).toThrow('whole batches');
    expect(taken([batch], 10).records).toBe(1);
  });
});
