/** The client's assignors by name, as `partition.assignment.strategy` names them. No state. */
import { clientRange } from './client-range.ts';
import { clientRoundRobin } from './client-round-robin.ts';
import type { ClientAssignor } from './client-shapes.ts';
import { clientCooperativeSticky, clientSticky } from './client-sticky.ts';

/** The names of the assignors that there are. */
export type ClientAssignorName = 'range' | 'roundrobin' | 'sticky' | 'cooperative-sticky';

const ASSIGNORS: ReadonlyMap<string, ClientAssignor> = new Map(
  [clientRange, clientRoundRobin, clientSticky, clientCooperativeSticky].map((assignor) => [assignor.name, assignor]),
);

/** The assignor of a name; null for a name that we do not know. */
export function clientAssignor(name: string): ClientAssignor | null {
  return ASSIGNORS.get(name) ?? null;
}
