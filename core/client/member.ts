/**
 * A member of a group, of whichever protocol: one set of functions for the consumer above. No state beside the member.
 */
import type { Answer, ChannelEvent } from '../channel/channel.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import {
  checkClassic,
  classicDeadlineMs,
  driveClassic,
  failMember,
  isRebalancing,
  memberDone,
  membershipOf,
  notePoll,
  oust,
  wantNothing,
  wantRejoin,
  wantTopics,
} from './member-classic.ts';
import { takeClassicAnswer } from './member-classic-answers.ts';
import type { ClassicMember } from './member-classic-state.ts';
import {
  type ConsumerMember,
  type ConsumerWish,
  checkConsumerMember,
  consumerMemberDeadlineMs,
  consumerMemberDone,
  driveConsumerMember,
  failConsumer,
  membershipOfConsumer,
  notePollOf,
  oustConsumer,
  wishFor,
  wishForNothing,
} from './member-consumer.ts';
import { takeConsumerAnswer } from './member-consumer-calls.ts';
import type { Ground, MemberEvent, Membership } from './member-shapes.ts';

/** `group.protocol` and its member. */
export type Member =
  | { readonly protocol: 'classic'; readonly classic: ClassicMember }
  | { readonly protocol: 'consumer'; readonly consumer: ConsumerMember };

/** Says what is wanted. A pattern is the consumer protocol's: with the classic one the owner chooses among topics. */
export function want(member: Member, env: Env, wish: ConsumerWish): void {
  if (member.protocol === 'classic') wantTopics(member.classic, env, wish.topics);
  else wishFor(member.consumer, env, wish);
}

/** Wants no membership any more; ends with 'left', unless it was none. */
export function wantOut(member: Member, env: Env, timeoutMs: number, isRemoved: boolean): void {
  if (member.protocol === 'classic') wantNothing(member.classic, env, timeoutMs, isRemoved);
  else wishForNothing(member.consumer, env, timeoutMs, isRemoved);
}

/** Whether it is out of the group and wants to stay so. */
export function isOut(member: Member): boolean {
  return (member.protocol === 'classic' ? member.classic.phase : member.consumer.phase) === 'idle';
}

/** Whether it has, or will have, something to say to the coordinator. */
export function isActive(member: Member): boolean {
  const phase = member.protocol === 'classic' ? member.classic.phase : member.consumer.phase;
  return phase !== 'idle' && phase !== 'failed';
}

/** Whether it owns what it should, and nothing is about to change, as far as it knows. */
export function isSettled(member: Member): boolean {
  if (member.protocol === 'consumer') return member.consumer.phase === 'stable';
  return !isRebalancing(member.classic) && member.classic.phase === 'stable' && !member.classic.needsRejoin;
}

/** Wants another generation: `enforceRebalance`. The consumer protocol has no use for it. */
export function wantAnother(member: Member, reason: string): void {
  if (member.protocol === 'classic') wantRejoin(member.classic, reason);
}

/** The owner has come for records, or waits for some. */
export function polled(member: Member, env: Env, isWaiting: boolean): void {
  if (member.protocol === 'classic') notePoll(member.classic, env, isWaiting);
  else notePollOf(member.consumer, env, isWaiting);
}

/** Who it is to the coordinator; null for nobody. */
export function whoIs(member: Member): Membership | null {
  return member.protocol === 'classic' ? membershipOf(member.classic) : membershipOfConsumer(member.consumer);
}

/** The owner has done with what it was told last. */
export function done(member: Member, env: Env, events: MemberEvent[]): void {
  if (member.protocol === 'classic') memberDone(member.classic, events);
  else consumerMemberDone(member.consumer, env, events);
}

/**
 * A commit was told that the membership under which it was sent is gone. One of another generation is still a member:
 * it keeps its id, under which it joins again or leaves. Without it the group would wait for somebody who never comes.
 */
export function disown(member: Member, generation: number, error: number): void {
  if (whoIs(member)?.generation !== generation) return;
  if (member.protocol === 'classic') oust(member.classic, error === ErrorCode.ILLEGAL_GENERATION);
  else oustConsumer(member.consumer);
}

/** Gives up for good. */
export function giveUp(member: Member, error: number, events: MemberEvent[]): void {
  if (member.protocol === 'classic') failMember(member.classic, error, null, events);
  else failConsumer(member.consumer, error, null, events);
}

/** Takes an answer, or the loss, of a call; false if it was not the member's. */
export function takeMemberAnswer(
  member: Member,
  ground: Ground,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
  events: MemberEvent[],
): boolean {
  return member.protocol === 'classic'
    ? takeClassicAnswer(member.classic, ground, env, event, events)
    : takeConsumerAnswer(member.consumer, ground, env, event, events);
}

/** Does all that can be done now. */
export function driveMember(member: Member, ground: Ground, env: Env, out: Outbox, events: MemberEvent[]): void {
  if (member.protocol === 'classic') driveClassic(member.classic, ground, env, out, events);
  else driveConsumerMember(member.consumer, ground, env, out, events);
}

/** When the member next wants a 'wake'. */
export function memberDeadlineMs(member: Member, drivenAtMs: number): number {
  return member.protocol === 'classic'
    ? classicDeadlineMs(member.classic, drivenAtMs)
    : consumerMemberDeadlineMs(member.consumer, drivenAtMs);
}

/** True between any two steps. */
export function checkMember(member: Member): void {
  if (member.protocol === 'classic') checkClassic(member.classic);
  else checkConsumerMember(member.consumer);
}
