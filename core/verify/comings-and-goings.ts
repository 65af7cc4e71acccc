/**
 * Judges what becomes of records where topics come anew and records are deleted: nothing old under a new topic, nothing
 * below a start that was acknowledged or seen, and no start that goes back.
 *
 * Only what is certain counts: a session that began after the acknowledgement, a topic id that is known to have been
 * there the whole time of a request.
 */
import { heardUs } from './administration.ts';
import type { Facts, Violation } from './checkers.ts';
import { partitionText, report } from './history.ts';

/** What a producer was answered about before a topic was made is not in that topic. */
export function findStaleTopics({ history, sendOf, lives }: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions, partitions } = history;
  for (let i = 0; i < reads.session.length; i++) {
    const partition = sessions[reads.session[i] as number]?.partition ?? -1;
    const topicId = partitions[partition]?.topicId;
    const life = topicId === undefined ? undefined : lives.get(topicId);
    const send = sendOf.get(reads.value[i] as number);
    if (life === undefined || send === undefined || send.doneUs < 0 || send.doneUs >= life.bornUs) continue;
    const where = `${partitionText(history, partition)}@${reads.offset[i]}`;
    const sentence = `value ${send.value} was read at ${where}, but was sent and done with before that topic was made`;
    report(found, 'stale-topic', 1, partition, sentence);
  }
  return found;
}

/**
 * A session that began after records were deleted does not read them. Of several nodes a leader that hears nobody may
 * have been replaced, and goes on showing what was committed when it last heard of the others.
 */
export function findDeletedReads({ history, lives }: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions, partitions } = history;
  const done = history.cuts.filter(({ lowWatermark, doneUs }) => lowWatermark >= 0 && doneUs >= 0);
  if (done.length === 0) return found;
  for (let i = 0; i < reads.session.length; i++) {
    const session = sessions[reads.session[i] as number];
    if (session === undefined) continue;
    const { slot = session.partition, topicId } = partitions[session.partition] ?? {};
    const life = topicId === undefined ? undefined : lives.get(topicId);
    if (topicId !== undefined && life === undefined) continue;
    const offset = reads.offset[i] as number;
    const cut = done.find(
      (one) =>
        one.partition === slot &&
        offset < one.lowWatermark &&
        one.doneUs < heardUs(history, session.startedUs) &&
        (life === undefined || (one.startUs >= life.firstSeenUs && one.doneUs <= life.lastSeenUs)),
    );
    if (cut === undefined) continue;
    const where = `${partitionText(history, session.partition)}@${offset}`;
    const sentence = `${where} was read although records below ${cut.lowWatermark} had been deleted`;
    report(found, 'deleted-read', 1, session.partition, sentence);
  }
  return found;
}

/**
 * Once a session that began at the start of the log found it at an offset, later sessions find nothing below. Of
 * several replicas only what was acknowledged is gone for good (`findDeletedReads`): a leader moves its own start
 * first; if it is lost before the others have followed, the next one shows records that were on their way out.
 */
export function findStarts({ history }: Facts): Violation[] {
  const found: Violation[] = [];
  if (history.isOfSeveral) return found;
  const { reads, sessions } = history;
  const starts = history.partitions.map((): { offset: number; atUs: number }[] => []);
  const begun = new Set<number>();
  for (let i = 0; i < reads.session.length; i++) {
    const index = reads.session[i] as number;
    const session = sessions[index];
    if (session === undefined || begun.has(index)) continue;
    begun.add(index);
    const offset = reads.offset[i] as number;
    const list = starts[session.partition] ?? [];
    const higher = list.find((start) => start.atUs < session.startedUs && offset < start.offset);
    if (higher !== undefined) {
      const where = partitionText(history, session.partition);
      const before = `the log was found to begin at ${higher.offset}`;
      const sentence = `${where}@${offset} was read by a session that began after ${before}`;
      report(found, 'start-regression', 1, session.partition, sentence);
    }
    if (session.isFromStart === true) list.push({ offset, atUs: reads.atUs[i] as number });
  }
  return found;
}
