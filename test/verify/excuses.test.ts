/** What damages excuse, and what they do not: each rule of the contract from both sides. */
import { expect, test } from 'vitest';
import {
  closeBreach,
  closeWound,
  createExcuses,
  type Excuses,
  excuseFor,
  excuseNow,
  type FoundAgain,
  isCore,
  isOnlyKnown,
  leaveToWounded,
  maySpareVoters,
  noteStray,
  QUORUM,
  quorumBreach,
  sortByExcuse,
  type VotersScene,
  type Wound,
  wholeNodes,
  woundedIn,
  woundedLeft,
  woundReplica,
  woundVoter,
} from '../../core/verify/excuses.ts';
import { type Complaint, createHistory } from '../../core/verify/history.ts';
import { provenBy } from '../../core/verify/last-reading.ts';
import { placeIn } from '../../runtime-sim/watch/damage.ts';

const LOG = 'orders-0';
const OTHER = 'orders-1';
const IN_SYNC_MIN = 2;

function wound(fields: Partial<Wound> = {}): Wound {
  const what = { committed: 100, committedEpoch: 4, incarnation: 'first' };
  return { kind: 'lost', atUs: 1, life: 3, ...what, epoch: 7, isLasting: false, ...fields };
}

/** All replicas have the record at one offset under an epoch, and lack any other. */
function having(offset: number, epoch: number, incarnation = 'first'): FoundAgain {
  return { incarnation, epochAt: (asked) => (asked === offset ? epoch : null) };
}

/** A replica of a partition is wounded on each of these nodes. */
function woundedOn(...nodes: number[]): Excuses {
  const excuses = createExcuses();
  for (const node of nodes) woundReplica(excuses, LOG, node, wound(), IN_SYNC_MIN);
  return excuses;
}

function lostIn(excuses: Excuses, log: string | null): string | null {
  return excuseFor(excuses, { checker: 'lost-write', log, node: -1 });
}

const VOTERS: VotersScene = { voters: [1, 2, 3], mute: [], holders: [2, 3], isVoteLost: false };

/** The voter 1 is wounded, where this is true of the others. */
function voterWounded(scene: Partial<VotersScene>, fields: Partial<Wound> = {}): Excuses {
  const excuses = createExcuses();
  woundVoter(excuses, 1, wound(fields), { ...VOTERS, ...scene });
  return excuses;
}

/** What a replica shows that is whole again. */
const PARTITION_SHOWN = { log: LOG, node: 1, life: 4, highWatermark: 100, epoch: -1, isInSync: true };
const VOTER_SHOWN = { log: QUORUM, node: 1, life: 4, highWatermark: 100, epoch: 7, isInSync: false };

test('a record is lost to no excuse while fewer replicas than must be in sync are damaged', () => {
  expect(lostIn(createExcuses(), LOG)).toBeNull();
  expect(lostIn(woundedOn(1), LOG)).toBeNull();
  expect(lostIn(woundedOn(1, 1), LOG)).toBeNull();
});

test('as many damaged replicas as must be in sync excuse losses, of that partition alone', () => {
  const excuses = woundedOn(1, 3);
  expect(lostIn(excuses, LOG)).toBe('the disks of nodes 1, 3 are damaged where orders-0 lies');
  expect(lostIn(excuses, OTHER)).toBeNull();
  expect(lostIn(excuses, null)).toBeNull();
});

test('who is whole again before the next is damaged does not count', () => {
  const excuses = woundedOn(1);
  expect(closeWound(excuses, PARTITION_SHOWN)).toBe(true);
  woundReplica(excuses, LOG, 3, wound(), IN_SYNC_MIN);
  expect(lostIn(excuses, LOG)).toBeNull();
  expect(woundedIn(excuses, LOG)).toEqual([3]);
});

test.each([
  ['the same life', { life: 3 }],
  ['a watermark below what was committed', { highWatermark: 99 }],
  ['out of sync', { isInSync: false }],
])('a replica is not whole again: %s', (_, fields) => {
  const excuses = woundedOn(1);
  expect(closeWound(excuses, { ...PARTITION_SHOWN, ...fields })).toBe(false);
  woundReplica(excuses, LOG, 3, wound(), IN_SYNC_MIN);
  expect(lostIn(excuses, LOG)).not.toBeNull();
});

test('bytes that are wrong on a disk count until the disk is another one', () => {
  const excuses = createExcuses();
  woundReplica(excuses, LOG, 1, wound({ kind: 'rotten', isLasting: true }), IN_SYNC_MIN);
  const shown = { ...PARTITION_SHOWN, life: 9 };
  expect(closeWound(excuses, shown)).toBe(false);
  woundReplica(excuses, LOG, 1, wound({ kind: 'unsynced' }), IN_SYNC_MIN);
  expect(closeWound(excuses, shown)).toBe(false);
  woundReplica(excuses, LOG, 1, wound({ kind: 'lost' }), IN_SYNC_MIN);
  expect(closeWound(excuses, shown)).toBe(true);
});

test('a voter may lose its memory while the others of every majority have all of it', () => {
  expect(quorumBreach(VOTERS)).toBeNull();
  expect(quorumBreach({ ...VOTERS, holders: [2] })).toContain('voters 1, 3 of 1, 2, 3');
  const five = { ...VOTERS, voters: [1, 2, 3, 4, 5] };
  expect(quorumBreach({ ...five, holders: [2, 3, 4] })).toBeNull();
  expect(quorumBreach({ ...five, holders: [2, 3] })).not.toBeNull();
});

test('a voter whose directory is another one votes no more: then one that has all is enough', () => {
  expect(quorumBreach({ ...VOTERS, mute: [1], holders: [2] })).toBeNull();
  expect(quorumBreach({ ...VOTERS, mute: [1], holders: [] })).not.toBeNull();
});

test('without a majority whose directories are the named ones nobody can be elected any more', () => {
  expect(quorumBreach({ ...VOTERS, mute: [1, 3], holders: [2] })).toContain('only 1 have the directory');
  const five = { ...VOTERS, voters: [1, 2, 3, 4, 5] };
  expect(quorumBreach({ ...five, mute: [1, 2], holders: [3, 4, 5] })).toBeNull();
  expect(quorumBreach({ ...five, mute: [1, 2, 3], holders: [4, 5] })).not.toBeNull();
});

test('a vote that may be given twice is beyond the contract', () => {
  const why = 'a voter has forgotten whom it voted for, and may be asked again';
  expect(quorumBreach({ ...VOTERS, isVoteLost: true })).toBe(why);
});

test('with the quorum everything is excused, but for a value that nobody sent', () => {
  const excuses = voterWounded({ holders: [2] });
  expect(lostIn(excuses, OTHER)).not.toBeNull();
  expect(excuseFor(excuses, { checker: 'metadata', log: null, node: -1 })).not.toBeNull();
  expect(excuseFor(excuses, { checker: 'two-leaders', log: QUORUM, node: -1 })).not.toBeNull();
  expect(excuseFor(excuses, { checker: 'phantom', log: OTHER, node: -1 })).toBeNull();
  expect(excuseFor(voterWounded({}), { checker: 'metadata', log: null, node: -1 })).toBeNull();
});

test('damaged replicas excuse neither a second leader nor owner, nor what was read too early', () => {
  const excuses = woundedOn(1, 2, 3);
  const ofLeaders = ['two-leaders', 'epoch-regression', 'early-read', 'failed-but-read', 'unanswered', 'phantom'];
  const ofGroups = ['two-owners', 'zombie-commit', 'zombie-heard', 'generation-regression', 'offset-regression'];
  for (const checker of [...ofLeaders, ...ofGroups, 'group-late-delivery', 'answered-alone']) {
    expect(excuseFor(excuses, { checker, log: LOG, node: -1 })).toBeNull();
  }
  expect(excuseFor(excuses, { checker: 'incomplete-leader', log: LOG, node: -1 })).not.toBeNull();
});

test('a bit that flips outside of batches excuses what follows, but for a value that nobody sent', () => {
  const excuses = createExcuses();
  excuses.flippedUs = 5;
  expect(lostIn(excuses, LOG)).toBe('bits flipped on the wire outside of batches');
  expect(excuseFor(excuses, { checker: 'phantom', log: LOG, node: -1 })).toBeNull();
});

test('a value is excused where it was not sent only if bytes of the log to which it was sent have come there', () => {
  const excuses = woundedOn(1, 2, 3);
  noteStray(excuses, LOG, OTHER);
  noteStray(excuses, OTHER, 'orders-2');
  const found = { checker: 'phantom', node: -1 };
  expect(excuseFor(excuses, { ...found, log: OTHER, sentTo: LOG })).toContain(`batches of ${LOG}`);
  expect(excuseFor(excuses, { ...found, log: 'orders-2', sentTo: LOG })).toContain(`batches of ${LOG}`);
  // What is found beside it, because it is there.
  expect(excuseFor(excuses, { checker: 'inconsistent-offsets', node: -1, log: OTHER, sentTo: LOG })).not.toBeNull();
  // Nobody sent it; it was sent to a log of which nothing has strayed; nothing has come to the log where it was read.
  expect(excuseFor(excuses, { ...found, log: OTHER, sentTo: QUORUM })).toBeNull();
  expect(excuseFor(excuses, { ...found, log: OTHER })).toBeNull();
  expect(excuseFor(excuses, { ...found, log: OTHER, sentTo: 'orders-2' })).toBeNull();
  expect(excuseFor(excuses, { ...found, log: LOG, sentTo: OTHER })).toBeNull();
  expect(lostIn(excuses, OTHER)).toBeNull();
});

test('a value that nobody sent is excused where bytes of the log of the quorum have come', () => {
  const excuses = createExcuses();
  noteStray(excuses, QUORUM, OTHER);
  const place = placeIn(createHistory([LOG, OTHER].map((_, partition) => ({ topic: 'orders', partition }))));
  const unsent = (checker: string, partition: number): Complaint => {
    return { checker, promise: 3, partition, sentence: 'nobody sent it', sentTo: -1 };
  };
  const excused = [unsent('phantom', 1), unsent('poll-skip', 1), unsent('inconsistent-offsets', 1)];
  const { sentTo: _, ...plain } = unsent('poll-skip', 1);
  const bugs = [unsent('phantom', 0), plain, { ...unsent('phantom', 1), sentTo: 0 }];
  expect(sortByExcuse(excuses, [...excused, ...bugs], place).bugs).toEqual(bugs);
});

test('a leader with too few in sync proves nothing of what it may not show, unless it is another record', () => {
  const shown = new Map([
    [2, 386],
    [4, 384],
  ]);
  const reading = { isDone: true, position: 384, isWounded: false, hasTooFew: true, shown, epoch: 2, trueEpoch: 2 };
  expect(provenBy(reading)).toEqual({ provesBelow: 384 });
  expect(provenBy({ ...reading, isDone: false })).toEqual({ isFinal: false });
  expect(provenBy({ ...reading, isWounded: true })).toEqual({ isFinal: false });
  // All that there is must be shown; the record is gone; it is an earlier one, or one that came later in its place.
  const asFound = [{ hasTooFew: false }, { epoch: null }, { epoch: 1 }, { epoch: 4, trueEpoch: 4 }];
  for (const fields of asFound) expect(provenBy({ ...reading, ...fields })).toEqual({});
});

test('an invariant that breaks is excused in a node that a file without a checksum has misled', () => {
  const excuses = createExcuses();
  excuses.misled.set(2, 9);
  expect(excuseFor(excuses, { checker: 'assertion', log: null, node: 2 })).toContain('node 2 was misled');
  expect(excuseFor(excuses, { checker: 'assertion', log: null, node: 1 })).toBeNull();
  expect(excuseFor(excuses, { checker: 'assertion', log: null, node: -1 })).toBeNull();
});

test('a breach of which nothing came is over once all are whole and have what was committed', () => {
  const excuses = voterWounded({ holders: [2] });
  expect(closeBreach(excuses, QUORUM, having(99, 4))).toBe(false);
  closeWound(excuses, VOTER_SHOWN);
  expect(closeBreach(excuses, QUORUM, having(99, 5))).toBe(false);
  expect(closeBreach(excuses, QUORUM, having(98, 4))).toBe(false);
  expect(lostIn(excuses, LOG)).not.toBeNull();
  expect(closeBreach(excuses, QUORUM, having(99, 4))).toBe(true);
  expect(lostIn(excuses, LOG)).toBeNull();
});

test('a breach in which two have led in one epoch is never over: in equal epochs may be unequal records', () => {
  const excuses = voterWounded({ holders: [2] });
  const complaint = { checker: 'two-leaders', promise: 2, partition: -1, sentence: 'both led', log: QUORUM };
  excuseNow(excuses, [complaint], placeIn(createHistory([])));
  closeWound(excuses, VOTER_SHOWN);
  expect(closeBreach(excuses, QUORUM, having(99, 4))).toBe(false);
  expect(lostIn(excuses, LOG)).not.toBeNull();
});

test('what was at stake first must be found again, whatever was lost and kept since', () => {
  const excuses = woundedOn(1, 3);
  woundReplica(excuses, LOG, 3, wound({ committed: 180, committedEpoch: 8 }), IN_SYNC_MIN);
  for (const node of [1, 3]) closeWound(excuses, { ...PARTITION_SHOWN, node, highWatermark: 180 });
  expect(closeBreach(excuses, LOG, having(179, 8))).toBe(false);
  expect(lostIn(excuses, LOG)).not.toBeNull();
  const both = { incarnation: 'first', epochAt: (offset: number) => (offset === 179 ? 8 : 4) };
  expect(closeBreach(excuses, LOG, both)).toBe(true);
});

test('a cluster that came anew has nothing of the one before, and a topic that did owes nothing', () => {
  const excuses = voterWounded({ holders: [2] });
  closeWound(excuses, VOTER_SHOWN);
  expect(closeBreach(excuses, QUORUM, having(99, 4, 'second'))).toBe(false);
  const ofTopic = woundedOn(1, 3);
  for (const node of [1, 3]) closeWound(ofTopic, { ...PARTITION_SHOWN, node });
  expect(closeBreach(ofTopic, LOG, having(3, 1, 'second'))).toBe(true);
});

test('what was lost of a topic that is no more stays excused, and nothing of the one that came under its name', () => {
  const excuses = woundedOn(1, 3);
  const why = lostIn(excuses, LOG);
  const place = placeIn(createHistory([{ topic: 'orders', partition: 0, slot: 0, topicId: 'first' }]));
  const complaint = { checker: 'inconsistent-offsets', promise: 2, partition: 0, sentence: 'two values' };
  const ofTopic = (id: string): Complaint => ({ ...complaint, partition: -1, log: `${LOG} (${id})` });
  const excusesFor = (one: Complaint): string | null => excuseFor(excuses, { checker: one.checker, ...place(one) });
  const all = [complaint, ofTopic('first'), ofTopic('second')];
  expect(all.map(excusesFor)).toEqual([why, why, null]);
  for (const node of [1, 3]) closeWound(excuses, { ...PARTITION_SHOWN, node });
  expect(closeBreach(excuses, LOG, having(3, 1, 'second'))).toBe(true);
  expect(all.map(excusesFor)).toEqual([why, why, null]);
  expect(lostIn(excuses, LOG)).toBeNull();
});

test('a partition is left to a disk that was set back once all others were shut down uncleanly', () => {
  const setBack = createExcuses();
  woundReplica(setBack, LOG, 1, wound({ kind: 'older' }), IN_SYNC_MIN);
  const led = { known: [], isr: [1, 2], elr: [3], leader: 1, lastKnownElr: [] };
  expect(woundedLeft(setBack, LOG, led, () => true)).toEqual([]);
  expect(woundedLeft(setBack, LOG, led, (id) => id === 3)).toEqual([]);
  expect(woundedLeft(setBack, LOG, led, (id) => id === 1)).toEqual([1]);
  expect(woundedLeft(setBack, OTHER, led, () => false)).toEqual([]);
  // Somebody else led last: that one is whole, and leads again.
  const nobody = { known: [], isr: [], elr: [], leader: -1 };
  expect(woundedLeft(setBack, LOG, { ...nobody, lastKnownElr: [2] }, () => false)).toEqual([]);
  expect(woundedLeft(setBack, LOG, { ...nobody, lastKnownElr: [1] }, () => false)).toEqual([1]);
  // The controller has forgotten one that should be eligible.
  expect(woundedLeft(setBack, LOG, { ...led, elr: [], known: [3] }, (id) => id === 3)).toEqual([]);
  // An empty disk has another directory.
  expect(woundedLeft(woundedOn(1), LOG, led, () => false)).toEqual([]);
  const { committed, committedEpoch, incarnation, atUs } = wound();
  leaveToWounded(setBack, LOG, [1], { atUs, committed, committedEpoch, incarnation });
  expect(lostIn(setBack, LOG)).toContain('only the disks of nodes 1');
  expect(lostIn(setBack, OTHER)).toBeNull();
});

test('what was excused when it was found stays so, though the breach is over', () => {
  const excuses = voterWounded({ holders: [2] });
  const early = { checker: 'epoch-regression', promise: 2, partition: -1, sentence: 'a node went back' };
  const later = { ...early };
  const place = (): { log: string; node: number } => ({ log: QUORUM, node: -1 });
  excuseNow(excuses, [early], place);
  closeWound(excuses, VOTER_SHOWN);
  closeBreach(excuses, QUORUM, having(99, 4));
  const { bugs, beyond } = sortByExcuse(excuses, [early, later], place);
  expect(bugs).toHaveLength(1);
  expect(bugs[0]).toBe(later);
  expect(beyond[0]?.complaint).toBe(early);
});

test('what was found before anything was broken is a bug, whatever came later', () => {
  const excuses = createExcuses();
  const early = { checker: 'epoch-regression', promise: 2, partition: -1, sentence: 'a node went back' };
  const place = (): { log: string; node: number } => ({ log: QUORUM, node: -1 });
  excuseNow(excuses, [early], place);
  excuses.flippedUs = 9;
  const later = { ...early };
  expect(sortByExcuse(excuses, [early, later], place)).toMatchObject({ bugs: [early], beyond: [{ complaint: later }] });
});

test('a voter is whole again when it knows as late an epoch as it did', () => {
  const excuses = voterWounded({});
  expect(closeWound(excuses, { ...VOTER_SHOWN, epoch: 6 })).toBe(false);
  expect(closeWound(excuses, VOTER_SHOWN)).toBe(true);
});

test('a cluster must come back with a majority of voters on whole disks, and not with fewer', () => {
  const one = woundedOn(1);
  expect(wholeNodes(one, [1, 2, 3])).toEqual([2, 3]);
  expect(isCore(one, [2, 3], [1, 2, 3])).toBe(true);
  const two = woundedOn(1, 2);
  expect(isCore(two, wholeNodes(two, [1, 2, 3]), [1, 2, 3])).toBe(false);
  const broken = voterWounded({ holders: [2] });
  expect(isCore(broken, wholeNodes(broken, [1, 2, 3]), [1, 2, 3])).toBe(false);
  const misled = createExcuses();
  misled.misled.set(3, 1);
  expect(wholeNodes(misled, [1, 2, 3])).toEqual([1, 2]);
});

test('complaints are sorted by whether they are excused, each by where it was found', () => {
  const complaint = (checker: string, partition: number): Complaint => {
    return { checker, promise: 1, partition, sentence: `${checker} in ${partition}` };
  };
  const complaints = [complaint('lost-write', 0), complaint('lost-write', 1), complaint('phantom', 0)];
  const { bugs, beyond } = sortByExcuse(woundedOn(1, 2), complaints, ({ partition }) => {
    return { log: `orders-${partition}`, node: -1 };
  });
  expect(bugs).toEqual([complaints[1], complaints[2]]);
  const why = 'the disks of nodes 1, 2 are damaged where orders-0 lies';
  expect(beyond).toEqual([{ complaint: complaints[0], why }]);
});

test('a disk may go only where another replica is known to have everything, is whole, and stays up', () => {
  const isUp = (): boolean => true;
  const known = { isr: [1], elr: [2] };
  expect(isOnlyKnown(createExcuses(), LOG, known, 1, isUp)).toBe(false);
  // The third has all of it too, and was shut down uncleanly: nobody knows.
  expect(isOnlyKnown(createExcuses(), LOG, { isr: [1], elr: [] }, 1, isUp)).toBe(true);
  expect(isOnlyKnown(createExcuses(), LOG, known, 1, (id) => id !== 2)).toBe(true);
  expect(isOnlyKnown(woundedOn(2), LOG, known, 1, isUp)).toBe(true);
  expect(isOnlyKnown(woundedOn(2), LOG, known, 3, isUp)).toBe(false);
});

test('where voters are taken out, a disk may go only if as many more voters can be spared', () => {
  const five = { ...VOTERS, voters: [1, 2, 3, 4, 5] };
  expect(maySpareVoters({ ...five, mute: [5] }, 1)).toBe(true);
  expect(maySpareVoters({ ...five, mute: [5] }, 2)).toBe(true);
  // Of the four that stay two would be silent.
  expect(maySpareVoters({ ...five, mute: [4, 5] }, 1)).toBe(false);
  // Of two that stay one would be.
  expect(maySpareVoters({ ...five, voters: [1, 2, 3, 4], mute: [4] }, 1)).toBe(true);
  expect(maySpareVoters({ ...five, voters: [1, 2, 3, 4], mute: [4] }, 2)).toBe(false);
});
