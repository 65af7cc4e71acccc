/**
 * Lines for the operator. Faults of clients are said at a bounded rate: a client must not be able to fill the disk
 * with our log. A crash forgets the count only.
 */
import type { Env, Outbox } from '../lib/world.ts';
import type { Node } from './state.ts';

/** Lines about clients' faults within COMPLAINTS_MS. */
export const COMPLAINTS_MAX = 20;
/** The interval that COMPLAINTS_MAX counts in. */
export const COMPLAINTS_MS = 10_000;

/** What a line carries beside its text. */
export type Fields = ReadonlyMap<string, string | number | boolean>;

const NO_FIELDS: Fields = new Map();

/** Says a line. */
export function say(
  out: Outbox,
  level: 'debug' | 'info' | 'warn' | 'error',
  text: string,
  fields: Fields = NO_FIELDS,
): void {
  out.push({ kind: 'say', level, text, fields });
}

/** Says a line about a client's fault, unless too many have been said just now. */
export function complain(node: Node, env: Env, text: string, fields: Fields, out: Outbox): void {
  const { complaints } = node;
  if (env.nowMs - complaints.sinceMs >= COMPLAINTS_MS) {
    if (complaints.suppressed > 0) {
      say(out, 'warn', 'more such faults than are shown', new Map([['count', complaints.suppressed]]));
    }
    complaints.sinceMs = env.nowMs;
    complaints.count = 0;
    complaints.suppressed = 0;
  }
  complaints.count += 1;
  if (complaints.count <= COMPLAINTS_MAX) say(out, 'warn', text, fields);
  else complaints.suppressed += 1;
}
