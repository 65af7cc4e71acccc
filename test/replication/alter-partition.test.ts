/** Proposals of in-sync sets: one call at a time, and what each answer leaves behind. */
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  type Alterer,
  type AltererEvent,
  altererDeadlineMs,
  createAlterer,
  propose,
  pumpAlterer,
  setController,
  takeAlterAnswer,
} from '../../core/replication/alter-partition.ts';
import type { CallOutcome } from '../../core/replication/calls.ts';
import { createInSync, type InSync, noteFetch } from '../../core/replication/in-sync.ts';
import { FAKE_CODECS } from '../log/world.ts';

const STATE = { leaderEpoch: 5, partitionEpoch: 9, replicas: [1, 2, 3], isr: [1, 2] };
const env: Env = { nowMs: 1000, wallMs: 0, crc32c, codecs: FAKE_CODECS, reached: () => {} };

function proposing(): { alterer: Alterer; inSync: InSync; events: AltererEvent[] } {
  const alterer = createAlterer(createIds(), 1);
  setController(alterer, 100, 71);
  const inSync = createInSync(1, STATE, 10, 0, 1000);
  noteFetch(inSync, { id: 3, brokerEpoch: 73, fetchOffset: 10, logStart: 0 }, 10, 0);
  propose(alterer, 'T', 0, inSync, [1, 2, 3]);
  const events: AltererEvent[] = [];
  pumpAlterer(alterer, env, events);
  return { alterer, inSync, events };
}

function told(errorCode: number, more = {}): CallOutcome {
  const state = { leaderId: 1, leaderEpoch: 5, isr: [1, 2, 3], leaderRecoveryState: 0, partitionEpoch: 10 };
  const partitions = [{ partitionIndex: 0, errorCode, ...state, ...more }];
  return { response: { throttleTimeMs: 0, errorCode: 0, topics: [{ topicId: 'T', partitions }] } };
}

describe('a proposal', () => {
  it('says under which epochs it was made, and which lives of the brokers are meant', () => {
    const { events } = proposing();
    expect(events).toMatchObject([{ kind: 'call', nodeId: 100, apiKey: 56 }]);
    const call = events[0] as Extract<AltererEvent, { kind: 'call'; apiKey: 56 }>;
    expect(call.body).toMatchObject({ brokerId: 1, brokerEpoch: 71 });
    expect(call.body.topics[0]?.partitions[0]).toMatchObject({
      leaderEpoch: 5,
      partitionEpoch: 9,
      newIsrWithEpochs: [
        { brokerId: 1, brokerEpoch: 71 },
        { brokerId: 2, brokerEpoch: -1 },
        { brokerId: 3, brokerEpoch: 73 },
      ],
    });
  });

  it('waits while a call is under way, and goes with all others in the next', () => {
    const { alterer } = proposing();
    const events: AltererEvent[] = [];
    for (const index of [1, 2]) propose(alterer, 'T', index, createInSync(1, STATE, 10, 0, 1000), [1]);
    pumpAlterer(alterer, env, events);
    expect(events).toEqual([]);
    takeAlterAnswer(alterer, env, alterer.ticket, told(0), events);
    const next = events.find((event) => event.kind === 'call');
    expect(next?.kind === 'call' && next.apiKey === 56 ? next.body.topics[0]?.partitions : []).toHaveLength(2);
  });

  it('that is accepted becomes the state, with the partition epoch that it has now', () => {
    const { alterer } = proposing();
    const events: AltererEvent[] = [];
    takeAlterAnswer(alterer, env, alterer.ticket, told(0), events);
    expect(events).toMatchObject([
      { kind: 'partitionAltered', index: 0, state: { isr: [1, 2, 3], partitionEpoch: 10 } },
    ]);
  });

  it.each([
    ['the connection broke', { failure: 'closed' } as const],
    ['it timed out', { failure: 'timedOut' } as const],
    ['the node is not the controller', told(ErrorCode.NOT_CONTROLLER)],
  ])('goes on counting, and is sent again, where %s: it may have been accepted', (_, outcome) => {
    const { alterer, inSync } = proposing();
    const { pending } = inSync;
    takeAlterAnswer(alterer, env, alterer.ticket, outcome, []);
    expect(inSync.pending).toBe(pending);
    expect(altererDeadlineMs(alterer)).toBe(1050);
    const events: AltererEvent[] = [];
    pumpAlterer(alterer, { ...env, nowMs: 1050 }, events);
    expect(events).toHaveLength(1);
  });

  it.each([ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NEW_LEADER_ELECTED])(
    'goes on counting, and is not sent again, when the controller is ahead (%i)',
    (error) => {
      const { alterer, inSync } = proposing();
      const { pending } = inSync;
      takeAlterAnswer(alterer, env, alterer.ticket, told(error), []);
      expect(inSync.pending).toBe(pending);
      expect(altererDeadlineMs(alterer)).toBe(Infinity);
    },
  );

  it('is dropped where the controller refuses the set itself, and not made again at once', () => {
    const { alterer, inSync } = proposing();
    takeAlterAnswer(alterer, env, alterer.ticket, told(ErrorCode.INELIGIBLE_REPLICA), []);
    expect(inSync.pending).toBe(null);
    expect(inSync.growMs).toBe(2000);
  });
});
