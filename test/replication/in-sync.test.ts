/** The in-sync set by itself: who joins, who leaves, what counts as committed, and what costs nothing. */
import { describe, expect, it } from 'vitest';
import {
  checkInSync,
  committedEnd,
  createInSync,
  type InSync,
  noteFetch,
  noteGrowth,
  takeState,
  wantsToGrow,
  wantsToShrink,
} from '../../core/replication/in-sync.ts';

const LAG_MS = 1000;
const STATE = { leaderEpoch: 5, partitionEpoch: 9, replicas: [1, 2, 3], isr: [1, 2] };
const BROKERS = new Map([1, 2, 3].map((id) => [id, { epoch: 70 + id, fenced: false, inControlledShutdown: false }]));

/** Leader 1 of a log that ends at 10, with 2 in sync and 3 not. */
function leading(): InSync {
  return createInSync(1, STATE, 10, 0, LAG_MS);
}

function fetched(inSync: InSync, id: number, fetchOffset: number, nowMs = 0, logEnd = 10): boolean {
  return noteFetch(inSync, { id, brokerEpoch: 70 + id, fetchOffset, logStart: 0 }, logEnd, nowMs);
}

describe('a follower joins', () => {
  it('once it holds all that is committed and has reached this leader’s epoch (KAFKA-7128)', () => {
    const inSync = leading();
    // The new leader knows of a high watermark of 5 only; what lies above it may be committed all the same.
    fetched(inSync, 3, 7);
    expect(wantsToGrow(inSync, BROKERS, 5, 10, 0)).toBe(null);
    fetched(inSync, 3, 10);
    expect(wantsToGrow(inSync, BROKERS, 5, 10, 0)).toEqual([1, 2, 3]);
  });

  it.each([
    ['is fenced', { fenced: true }],
    ['is shutting down', { inControlledShutdown: true }],
    ['has registered anew since', { epoch: 99 }],
  ])('but not where its broker %s (KIP-841, KIP-903)', (_, change) => {
    const inSync = leading();
    fetched(inSync, 3, 10);
    const broker = { epoch: 73, fenced: false, inControlledShutdown: false, ...change };
    expect(wantsToGrow(inSync, new Map(BROKERS).set(3, broker), 5, 10, 0)).toBe(null);
    expect(wantsToGrow(inSync, BROKERS, 5, 10, 0)).toEqual([1, 2, 3]);
  });

  it('and keeps nobody else out where its log directory is lost', () => {
    const inSync = createInSync(1, { ...STATE, isr: [1] }, 10, 0, LAG_MS);
    fetched(inSync, 2, 10);
    fetched(inSync, 3, 10);
    inSync.lost = [2];
    expect(wantsToGrow(inSync, BROKERS, 5, 10, 0)).toEqual([1, 3]);
    inSync.lost = [2, 3];
    expect(wantsToGrow(inSync, BROKERS, 5, 10, 0)).toBe(null);
  });

  it('while it is about to, the high watermark waits for it, or it could never catch up', () => {
    const inSync = leading();
    fetched(inSync, 3, 10);
    noteGrowth(inSync, 10, 0);
    fetched(inSync, 2, 20, 10, 20);
    fetched(inSync, 3, 12, 10, 20);
    expect(committedEnd(inSync, BROKERS, 20, 20, 2, 10)).toBe(12);
    // Nobody need fetch or append any more: the leader looks again by itself.
    const { joinMs } = inSync;
    expect(committedEnd(inSync, BROKERS, 20, 20, 2, joinMs - 1)).toBe(12);
    expect(committedEnd(inSync, BROKERS, 20, 20, 2, joinMs)).toBe(20);
    expect(inSync.joinMs).toBe(Infinity);
  });

  it('one that has yet to catch up for the first time is not waited for', () => {
    const inSync = createInSync(1, STATE, 0, 0, LAG_MS);
    fetched(inSync, 2, 20, 10, 20);
    fetched(inSync, 3, 12, 10, 20);
    expect(committedEnd(inSync, BROKERS, 20, 20, 2, 10)).toBe(20);
    takeState(inSync, { ...STATE, replicas: [1, 2, 3, 4], partitionEpoch: 10 }, 10);
    expect(inSync.followers.get(4)?.caughtUpMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it('a fetch that a slow connection brings late takes nothing back of what was said since', () => {
    const inSync = leading();
    fetched(inSync, 2, 10);
    expect(fetched(inSync, 2, 8, 5)).toBe(false);
    expect(committedEnd(inSync, BROKERS, 10, 10, 2, 5)).toBe(10);
    // The broker's next life may hold less: it says so itself.
    expect(noteFetch(inSync, { id: 2, brokerEpoch: 79, fetchOffset: 8, logStart: 0 }, 10, 6)).toBe(true);
    expect(inSync.followers.get(2)?.fetchOffset).toBe(8);
  });

  it('an earlier life of a broker is not heard any more', () => {
    const inSync = leading();
    fetched(inSync, 3, 10);
    expect(noteFetch(inSync, { id: 3, brokerEpoch: 72, fetchOffset: 4, logStart: 0 }, 10, 0)).toBe(false);
    expect(inSync.followers.get(3)?.fetchOffset).toBe(10);
    expect(noteFetch(inSync, { id: 9, brokerEpoch: 79, fetchOffset: 4, logStart: 0 }, 10, 0)).toBe(false);
  });
});

describe('a follower leaves', () => {
  it('when it has lagged for too long, counted from when it last had everything', () => {
    const inSync = leading();
    fetched(inSync, 2, 10, 100);
    noteGrowth(inSync, 10, 5000);
    expect(wantsToShrink(inSync, 15, 5000 + LAG_MS)).toBe(null);
    expect(inSync.lagMs).toBe(5000 + LAG_MS + 1);
    expect(wantsToShrink(inSync, 15, 5000 + LAG_MS + 1)).toEqual([1]);
  });

  it('never from an idle partition, which has no deadline', () => {
    const inSync = leading();
    fetched(inSync, 2, 10, 100);
    expect(wantsToShrink(inSync, 10, LAG_MS)).toBe(null);
    expect(inSync.lagMs).toBe(Infinity);
  });

  it('and does not come back only because too few are left for the high watermark to move', () => {
    const inSync = leading();
    fetched(inSync, 2, 10, 100);
    noteGrowth(inSync, 10, 5000);
    takeState(inSync, { ...STATE, isr: [1], partitionEpoch: 10 }, 7000);
    expect(committedEnd(inSync, BROKERS, 15, 15, 2, 7000)).toBe(-1);
    expect(wantsToGrow(inSync, BROKERS, 10, 15, 7000)).toBe(null);
  });
});

describe('while a proposal is not decided', () => {
  it('both sets count, whichever of them it makes smaller or larger', () => {
    const inSync = leading();
    fetched(inSync, 2, 8);
    fetched(inSync, 3, 10);
    inSync.pending = { isr: [1, 3], partitionEpoch: 9, leaderEpoch: 5 };
    expect(committedEnd(inSync, BROKERS, 10, 10, 1, 9999)).toBe(8);
    const growing = leading();
    fetched(growing, 2, 10);
    fetched(growing, 3, 9);
    growing.pending = { isr: [1, 2, 3], partitionEpoch: 9, leaderEpoch: 5 };
    expect(committedEnd(growing, BROKERS, 10, 10, 1, 9999)).toBe(9);
  });

  it('the answer and the metadata may come in either order: the later partition epoch wins (KAFKA-12686)', () => {
    const inSync = leading();
    inSync.pending = { isr: [1], partitionEpoch: 9, leaderEpoch: 5 };
    expect(takeState(inSync, { ...STATE, isr: [1, 3], partitionEpoch: 11 }, 0)).toBe(true);
    expect(inSync.pending).toBe(null);
    expect(takeState(inSync, { ...STATE, isr: [1], partitionEpoch: 10 }, 0)).toBe(false);
    expect(inSync.isr).toEqual([1, 3]);
  });
});

describe('a follower whose disk was lost', () => {
  const anew = { id: 2, brokerEpoch: 99, fetchOffset: 0, logStart: 0 };

  it('holds the high watermark up from the start of its log on, and breaks nothing', () => {
    const inSync = createInSync(1, STATE, 0, 0, LAG_MS);
    fetched(inSync, 2, 10);
    expect(committedEnd(inSync, BROKERS, 10, 10, 2, 0)).toBe(10);
    expect(noteFetch(inSync, anew, 10, 1)).toBe(true);
    expect(committedEnd(inSync, BROKERS, 10, 10, 2, 1)).toBe(0);
    expect(() => checkInSync(inSync, 10)).not.toThrow();
  });

  it('is checked again once it has come as far as it had', () => {
    const inSync = createInSync(1, STATE, 0, 0, LAG_MS);
    fetched(inSync, 2, 10);
    noteFetch(inSync, anew, 10, 1);
    noteFetch(inSync, { ...anew, fetchOffset: 9 }, 10, 2);
    expect(() => checkInSync(inSync, 12)).not.toThrow();
    noteFetch(inSync, { ...anew, fetchOffset: 10 }, 10, 3);
    expect(() => checkInSync(inSync, 12)).toThrow('a follower in sync has all that is committed');
  });

  it('while it did not count has no leave to be short of anything when it does', () => {
    const inSync = createInSync(1, { ...STATE, isr: [1] }, 0, 0, LAG_MS);
    fetched(inSync, 2, 8);
    noteFetch(inSync, anew, 10, 1);
    takeState(inSync, { ...STATE, partitionEpoch: 10 }, 2);
    expect(() => checkInSync(inSync, 10)).toThrow('a follower in sync has all that is committed');
  });

  it('is in sync like any other once the controller has taken it out and it has caught up', () => {
    const inSync = createInSync(1, STATE, 0, 0, LAG_MS);
    fetched(inSync, 2, 10);
    noteFetch(inSync, anew, 10, 1);
    takeState(inSync, { ...STATE, isr: [1], partitionEpoch: 10 }, 2);
    takeState(inSync, { ...STATE, partitionEpoch: 11 }, 3);
    expect(() => checkInSync(inSync, 10)).toThrow('a follower in sync has all that is committed');
  });
});
