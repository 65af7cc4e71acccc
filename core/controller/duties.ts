/**
 * What the controller does without being asked: fences brokers that were silent for a session, gives leads back to the
 * preferred replicas from time to time, and holds unclean elections where a topic was allowed them after its leader
 * had gone.
 *
 * The host asks for the next duty whenever it has submitted something and when the deadline has come, and submits it
 * like a request of the API; refused for lack of room, it waits a little and asks again. What is due follows from the
 * state of the controller: a kind of election is due until a round of it finds nothing to do. Brokers are fenced one by
 * one, so that each fencing sees the one before: two at once would hand leads to each other. An idle cluster has one
 * deadline, and no work but a scan each `leader.imbalance.check.interval.seconds`. A new controller finds everything
 * anew.
 */
import type { MetadataRecord } from '../metadata/records.ts';
import { controllerDeadlineMs, expiredBroker } from './brokers.ts';
import { balanceLeaders, electUncleanLeaders } from './elect-leaders.ts';
import type { Controller } from './state.ts';

/** Something to submit to the controller. None of it has a response. */
export type Duty =
  /** The broker is known to be dead, or was silent for a session: in the life of `epoch`, or any if that is -1. */
  | { readonly kind: 'fence'; readonly broker: number; readonly epoch: number }
  /** Leads are given back to those who are preferred. */
  | { readonly kind: 'balance' }
  /** Partitions without a leader that anyone may lead are given one. */
  | { readonly kind: 'electUncleanly' };

/** What is due, the most urgent first; null if nothing is. */
export function nextDuty(controller: Controller, nowMs: number): Duty | null {
  const broker = expiredBroker(controller, nowMs);
  if (broker >= 0) {
    return { kind: 'fence', broker, epoch: controller.image.cluster.brokers.get(broker)?.epoch ?? -1 };
  }
  if (controller.mayElectUncleanly) return { kind: 'electUncleanly' };
  return controller.balanceAtMs <= nowMs ? { kind: 'balance' } : null;
}

/** When a duty is next due, monotonic ms; -Infinity if one is, Infinity if none will be. */
export function dutiesDeadlineMs(controller: Controller): number {
  if (controller.mayElectUncleanly) return -Infinity;
  return Math.min(controller.balanceAtMs, controllerDeadlineMs(controller));
}

/** The records of a round of preferred elections. */
export function balance(controller: Controller, nowMs: number): readonly MetadataRecord[] {
  const records = balanceLeaders(controller);
  const isDone = records.length === 0;
  controller.balanceAtMs = isDone ? nowMs + (controller.config.balanceIntervalMs ?? Infinity) : nowMs;
  return records;
}

/** The records of a round of unclean elections. */
export function electUncleanly(controller: Controller): readonly MetadataRecord[] {
  const records = electUncleanLeaders(controller);
  controller.mayElectUncleanly = records.length > 0;
  return records;
}
