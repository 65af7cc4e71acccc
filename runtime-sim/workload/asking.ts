/**
 * What processes do alike that ask through an administrator, the one that serves real programs too: each life begins
 * with another administrator, hears what comes for it, and sends in the same step whatever was asked in it.
 */
import { type Admin, type AdminEvent, type AdminOptions, createAdmin, stepAdmin } from '../../core/client/admin.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';

/** How its administrator behaves. */
export type AskingOptions = Omit<AdminOptions, 'ids' | 'seed'>;

/** The administrator of one life. */
export function newAdmin(options: AskingOptions, seed: number): Admin {
  return createAdmin({ ...options, ids: createIds(), seed });
}

/** Takes one input: `settle` is told what was answered; `act` may ask, once what came is settled. */
export function stepAsking(
  admin: Admin,
  env: Env,
  input: Input,
  out: Outbox,
  settle: (event: AdminEvent) => void,
  act: () => void,
): void {
  const events: AdminEvent[] = [];
  switch (input.kind) {
    case 'connected':
    case 'connectFailed':
    case 'frame':
    case 'sent':
    case 'closed':
      stepAdmin(admin, env, input, out, events);
      break;
    default:
  }
  for (const event of events.splice(0)) settle(event);
  act();
  if (input.kind === 'start') return;
  stepAdmin(admin, env, { kind: 'wake' }, out, events);
  for (const event of events) settle(event);
}
