/**
 * Whoever looks after the cluster: the administrator of `core/client` with promises, and the patience of one who asks
 * again until a thing is so. What a cluster in trouble answers meanwhile is no matter.
 */
import {
  type Admin,
  type AdminEvent,
  adminDeadlineMs,
  askAdmin,
  checkAdmin,
  stepAdmin,
} from '../../core/client/admin.ts';
import type { AdminRequest } from '../../core/client/admin-calls.ts';
import type { QuorumMember } from '../../core/client/voter-calls.ts';
import type { NetworkInput } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { startLoop } from '../../runtime-real/sdk/loop.ts';
import { type AskingOptions, newAdmin } from '../../runtime-sim/workload/asking.ts';
import { pause } from '../peers/process.ts';

/** An operator at work. */
export interface Operator {
  /** Resolves to what came of it, whatever that is. */
  readonly ask: (request: AdminRequest) => Promise<AdminEvent>;
  /** Who votes and who follows, or null where nobody can tell. */
  readonly quorum: () => Promise<Quorum | null>;
  readonly close: () => Promise<void>;
}

/** The members of the quorum, by the word of its leader. */
export interface Quorum {
  readonly voters: readonly QuorumMember[];
  readonly observers: readonly QuorumMember[];
}

/** Between two looks. */
const LOOK_EVERY_MS = 100;

/** Begins to work. */
export function startOperator(options: AskingOptions, seed: number): Operator {
  const admin: Admin = newAdmin(options, seed);
  const waiting = new Map<number, (event: AdminEvent) => void>();
  const events: AdminEvent[] = [];
  const loop = startLoop({
    step: (env, input: NetworkInput | { readonly kind: 'wake' }, out) => stepAdmin(admin, env, input, out, events),
    deadlineMs: () => adminDeadlineMs(admin),
    afterwards: () => {
      checkAdmin(admin);
      for (const event of events.splice(0)) {
        waiting.get(event.ticket)?.(event);
        waiting.delete(event.ticket);
      }
    },
  });
  const ask = (request: AdminRequest): Promise<AdminEvent> =>
    new Promise((resolve) => loop.act((env) => waiting.set(askAdmin(admin, env, request), resolve)));
  return {
    ask,
    quorum: async () => {
      const { error, result } = await ask({ kind: 'describeQuorum' });
      const { voters = [], observers = [] } = result;
      return error === ErrorCode.NONE && voters.length > 0 ? { voters, observers } : null;
    },
    close: () => loop.close(),
  };
}

/** Looks until something is so, or the time is over: whether it is. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() >= untilMs) return false;
    await pause(LOOK_EVERY_MS);
  }
}
