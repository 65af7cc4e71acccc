/** What others ask of a process that consumes: whether it has settled, where it stands. Nothing is changed here. */
import { isSettled, whoIs } from '../../core/client/member.ts';
import type { GroupHistory } from '../../core/verify/group-history.ts';
import type { MemberMoment } from '../trouble/troubles.ts';
import type { Consuming, ConsumingOptions } from './consuming-state.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** What it owns and under which generation, when it has settled; null while it has not. */
export function settledAs(
  state: unknown,
): { readonly generation: number; readonly partitions: readonly number[] } | null {
  const { consumer, owed, notes, backAtMs } = state as Consuming;
  const { grouped, rebalance, life } = consumer;
  if (grouped === null || life !== 'open' || owed !== null || rebalance !== null || backAtMs !== NEVER) return null;
  if (!isSettled(grouped.member)) return null;
  return { generation: whoIs(grouped.member)?.generation ?? -1, partitions: [...notes.holdings.keys()] };
}

/** Whether it is at a moment of a rebalance: it makes for a generation, or has been told what changes for it. */
export function isAtMoment(state: unknown, moment: MemberMoment): boolean {
  const { consumer, frozenUntilMs } = state as Consuming;
  const { grouped, rebalance, life } = consumer;
  if (grouped === null || life !== 'open' || frozenUntilMs !== 0) return false;
  if (moment === 'joining') return rebalance === null && !isSettled(grouped.member);
  if (moment === 'takingOver') return rebalance?.kind === 'assigned';
  // Of the classic protocol it owes only what it gives up in a generation; what it gives up to join nobody waits for.
  const isOwing = grouped.member.protocol === 'classic' && grouped.member.classic.phase === 'completing';
  return rebalance?.kind === 'revoked' && isOwing === (moment === 'owing');
}

/** Where a member stands, for people. */
export function standingOf(state: unknown): string {
  const { consumer, owed, notes, backAtMs } = state as Consuming;
  const { grouped, rebalance, life } = consumer;
  const member = grouped?.member;
  const phase =
    member === undefined ? '' : member.protocol === 'classic' ? member.classic.phase : member.consumer.phase;
  const generation = member === undefined ? -1 : (whoIs(member)?.generation ?? -1);
  const waits = rebalance === null ? '' : ` ${rebalance.kind} ${rebalance.stage}`;
  const what = `${life}${backAtMs === NEVER ? '' : ' away'}${waits}${owed === null ? '' : ' in a listener'}`;
  const how = `${member?.protocol ?? ''} ${phase} in ${generation}`;
  return `member ${notes.member} ${what} ${how} with ${[...notes.holdings.keys()]}`;
}

/** The group of a consuming process. */
export function groupOfConsuming(options: unknown): GroupHistory {
  return (options as ConsumingOptions).group;
}

/** Whether it goes for good when it is asked to stop. */
export function isPassing(options: unknown): boolean {
  return (options as ConsumingOptions).isPassing;
}

/** Whether it chooses its topics by an expression. */
export function isByPattern(options: unknown): boolean {
  return 'pattern' in (options as ConsumingOptions).to;
}

/** Whether it has ended its last consumer, for good. */
export function hasPassed(state: unknown): boolean {
  const { consumer, backAtMs, passAtMs, isGone } = state as Consuming;
  if (isGone) return true;
  return consumer.life === 'closed' && backAtMs === NEVER && passAtMs === NEVER;
}
