/**
 * What nodes say to their operators, and whether they have a reason to: a line at the level of errors tells of damage,
 * of a disk that refuses, or of a loss that was allowed. Where nothing of that kind was done a node that says so has
 * done wrong itself, or was dealt with wrongly by another, even if all is put right a moment later.
 */
import type { Effect } from '../../core/lib/world.ts';
import type { Complaint } from '../../core/verify/history.ts';
import type { Family, Plan } from '../scenario.ts';

/** A line as it is told. */
export function sayingOf({ level, text, fields }: Extract<Effect, { kind: 'say' }>): string {
  let line = `${level}: ${text}`;
  for (const [name, value] of fields) line += ` ${name}=${value}`;
  return line;
}

/** Somebody has come to lead who may have lost something, and says so. */
const LOSSES: readonly string[] = ['sim.elected.last_known', 'sim.elected.unclean'];

/** What a node may rightly call an error. */
const REASONS: readonly Family[] = [
  'fullDisk',
  'failedSync',
  'failedAppend',
  'failedRead',
  'rot',
  'indexRot',
  'checkpointRot',
  'diskLoss',
  'diskRestore',
  'misdirectedWrite',
  'misdirectedRead',
  'lostWrite',
  'lyingSync',
  'rotAnywhere',
  'ruin',
  'flip',
  'headerFlip',
];

/**
 * A complaint about the first error that a node has said; null if none was said, or if it had a reason. Of several
 * nodes only: one that is alone and loses its power leads again as the last that is known, and has to say that nobody
 * can tell what it has lost.
 */
export function judgeSaid(
  error: string | null,
  { troubles, cluster }: Plan,
  marks: ReadonlyMap<string, number>,
): Complaint | null {
  const isAdmitted = cluster.allowsUnclean || LOSSES.some((mark) => marks.has(mark)) || cluster.nodes === 1;
  if (error === null || isAdmitted || troubles.some(({ family }) => REASONS.includes(family))) return null;
  const sentence = `nothing was damaged, and ${error}`;
  return { checker: 'said-error', promise: 2, partition: -1, sentence };
}
