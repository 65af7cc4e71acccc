/**
 * When the members of a group are away together: a service is stopped and started again, or its machines stand still.
 * Each of its members knows when that is; in between the group is empty, and whoever coordinates it may change.
 */
import { closeConsumer } from '../../core/client/consumer.ts';
import type { Env } from '../../core/lib/world.ts';
import { CLOSE_MS, type Consuming, sessionMsOf, ZOMBIE_MS_MAX } from './consuming-state.ts';
import { jitter } from './jitter.ts';

/** Those who rest together do not come back together. */
const BACK_WITHIN_MS = 1_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Plans the next rest that has not begun. */
export function planRest({ resting, options }: Consuming, env: Env): void {
  const sinceMs = sinceBeginMs(options);
  resting.next = options.rests.findIndex(({ fromMs }) => fromMs > sinceMs);
  const rest = options.rests[resting.next];
  resting.atMs = rest === undefined ? NEVER : env.nowMs + Math.max(1, Math.round(rest.fromMs - sinceMs));
}

function sinceBeginMs({ observer, restsFromUs }: Consuming['options']): number {
  return (observer.time.nowUs - restsFromUs) / 1000;
}

/** Goes where a rest is due, as all others of the group do; a static member gives up its place. */
export function rest(state: Consuming, env: Env): void {
  const { consumer, dice, options, resting } = state;
  const due = env.nowMs >= resting.atMs ? options.rests[resting.next] : undefined;
  if (due === undefined) return;
  const lastsMs = Math.max(0, Math.round(due.toMs - sinceBeginMs(options)));
  const backAtMs = env.nowMs + lastsMs + jitter(dice, BACK_WITHIN_MS);
  planRest(state, env);
  options.observer.reached(due.isSilent ? 'sim.group.silent' : 'sim.group.rests');
  if (state.backAtMs !== NEVER) state.backAtMs = Math.max(state.backAtMs, backAtMs);
  else if (due.isSilent) state.frozenUntilMs = env.nowMs + sessionMsOf(state) + jitter(dice, ZOMBIE_MS_MAX);
  else {
    closeConsumer(consumer, env, CLOSE_MS, true);
    state.isBack = 'anew';
    state.backAtMs = backAtMs;
  }
}
