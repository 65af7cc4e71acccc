/** What members of a group tell each other: round trips in all versions, bytes as Kafka writes them, later versions. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../../core/lib/protocol-error.ts';
import {
  decodeAssignment,
  decodeStickyUserData,
  decodeSubscription,
  encodeAssignment,
  encodeStickyUserData,
  encodeSubscription,
} from '../../core/protocol/consumer-protocol.ts';

const partitions = fc.array(fc.record({ topic: fc.string(), partitions: fc.array(fc.nat()) }));
const userData = fc.option(fc.uint8Array());

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

describe('subscriptions and assignments', () => {
  it('come back as they were, less what their version lacks', () => {
    const subscription = fc.record({
      topics: fc.array(fc.string()),
      userData,
      ownedPartitions: partitions,
      generationId: fc.integer({ min: -1, max: 1000 }),
      rackId: fc.option(fc.string()),
    });
    fc.assert(
      fc.property(subscription, partitions, userData, fc.integer({ min: 0, max: 3 }), (body, given, data, version) => {
        const { ownedPartitions, generationId, rackId } = body;
        expect(decodeSubscription(encodeSubscription(body, version))).toEqual({
          ...body,
          ownedPartitions: version >= 1 ? ownedPartitions : [],
          generationId: version >= 2 ? generationId : -1,
          rackId: version >= 3 ? rackId : null,
        });
        const assignment = { assignedPartitions: given, userData: data };
        expect(decodeAssignment(encodeAssignment(assignment, version))).toEqual(assignment);
      }),
    );
  });

  it('have the bytes of Kafka: a version, lengths of 32 bits, texts with lengths of 16', () => {
    const owned = [{ topic: 'b', partitions: [2] }];
    expect(hex(encodeSubscription({ topics: ['a'], ownedPartitions: owned, generationId: 7, rackId: 'r' }))).toBe(
      '0003' + '00000001000161' + 'ffffffff' + '0000000100016200000001' + '00000002' + '00000007' + '000172',
    );
    expect(hex(encodeAssignment({ assignedPartitions: [{ topic: 'a', partitions: [0, 1] }] }, 1))).toBe(
      '0001' + '0000000100016100000002' + '0000000000000001' + 'ffffffff',
    );
  });

  it('of a version that is not known yet are read as far as they are known', () => {
    const bytes = encodeSubscription({ topics: ['a'], ownedPartitions: [], rackId: 'r' });
    const later = Uint8Array.from([...bytes, 1, 2, 3]);
    later[1] = 9;
    expect(decodeSubscription(later)).toMatchObject({ topics: ['a'], rackId: 'r' });
  });

  it('are refused where they make no sense; no bytes at all assign nothing', () => {
    expect(() => decodeSubscription(Uint8Array.of(0, 3, 0))).toThrow(ProtocolError);
    expect(() => decodeAssignment(Uint8Array.of(255, 255, 0, 0, 0, 0))).toThrow(ProtocolError);
    expect(decodeAssignment(new Uint8Array(0))).toEqual({ assignedPartitions: [], userData: null });
  });
});

describe('the user data of sticky', () => {
  it('comes back, and is read without a generation too', () => {
    fc.assert(
      fc.property(partitions, fc.nat(), (previousAssignment, generation) => {
        const bytes = encodeStickyUserData({ previousAssignment, generation });
        expect(decodeStickyUserData(bytes)).toEqual({ previousAssignment, generation });
        const older = bytes.subarray(0, bytes.length - 4);
        expect(decodeStickyUserData(older)).toEqual({ previousAssignment, generation: -1 });
      }),
    );
  });

  it('is nothing where it makes no sense', () => {
    expect(decodeStickyUserData(Uint8Array.of(0, 0, 0, 9))).toBe(null);
  });
});
