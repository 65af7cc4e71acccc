/**
 * One node: it owns every machine of this process and hands each input to the machine that it is meant for.
 *
 * All state is in `Node`; a crash forgets it, and the next life finds what was durable through `boot.ts`.
 */

import type { NodeConfig } from '../config/settings.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Input, Outbox } from '../lib/world.ts';

/** The state of one node: plain data, changed in place by `stepNode` only. */
export interface Node {
  readonly config: NodeConfig;
}

/** A node that has not been started: its first input is 'start'. */
export function createNode(config: NodeConfig): Node {
  return { config };
}

/** Takes one input to its end and pushes what is to be done into `out`. */
export function stepNode(node: Node, env: Env, input: Input, out: Outbox): void {
  assert(out.length >= 0 && env.nowMs >= 0 && node.config !== undefined && input.kind !== 'stop', 'not built yet');
}

/** When the node next wants a 'wake', on the clock of `env.nowMs`; Infinity for never. Asked after every step. */
export function nodeDeadlineMs(node: Node): number {
  return node.config === undefined ? 0 : Number.POSITIVE_INFINITY;
}

/** Throws AssertionError if an invariant of the node is broken; true between any two steps. */
export function checkNode(node: Node): void {
  assert(node.config !== undefined, 'a node has a configuration');
}
