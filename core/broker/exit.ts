/** How a node ends: the reason is noted, the step goes on to its end, and the last effect is 'exit'. */
import type { Node } from './state.ts';

/** Ends the node after this step; the first reason stands. `code`: 0 after a clean stop, else 1. */
export function exitNode(node: Node, code: number, reason: string): void {
  if (node.exit === null) node.exit = { code, reason };
}
