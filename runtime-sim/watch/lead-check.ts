/**
 * No epoch of a quorum is led twice (Raft, election safety): not in one life of the node, and not across its deaths.
 * Nobody need have heard of an epoch for that: what was sent in it may still be under way. It judges a promise, and so
 * does its work whether or not machines check themselves.
 */
import type { Node } from '../../core/broker/node.ts';
import type { Complaint } from '../../core/verify/history.ts';

/** Who was last seen to lead, plain data. */
export interface LeadCheck {
  /** The highest epoch that was led; -1 for none. */
  epoch: number;
  /** The node's lives so far, and in which of them that epoch was led, from which offset on. */
  life: number;
  ledIn: number;
  ledFrom: number;
}

/** Nobody has led. */
export function createLeadCheck(): LeadCheck {
  return { epoch: -1, life: 0, ledIn: -1, ledFrom: -1 };
}

/** A new life of the node. */
export function beginLeadCheck(check: LeadCheck): void {
  check.life += 1;
}

/** Looks after a step of the node. A complaint where an epoch is led for a second time. */
export function checkLead(check: LeadCheck, { controller }: Node): Complaint | null {
  const member = controller?.quorum.raft;
  if (member?.lead == null) return null;
  const { epoch, lead } = member;
  const isKnown = check.ledIn === check.life && check.epoch === epoch && check.ledFrom === lead.epochStart;
  if (isKnown) return null;
  const isAgain = epoch <= check.epoch;
  const sentence = `epoch ${epoch} of the quorum is led again, after epoch ${check.epoch}`;
  check.epoch = epoch;
  check.ledIn = check.life;
  check.ledFrom = lead.epochStart;
  return isAgain ? { checker: 'two-leaders', promise: 2, partition: -1, sentence } : null;
}
