/** What the parts of a test's cluster share: its nodes, its metadata, what was seen and acknowledged. */
import type { Call, CallOutcome } from '../../core/replication/calls.ts';
import type { Dice } from '../log/disk.ts';
import type { Network } from './network.ts';
import type { TestNode, View } from './node.ts';

/** A call that is not answered. */
export interface Outstanding {
  readonly node: TestNode;
  readonly call: Call;
  readonly untilMs: number;
}

/** A record that a producer was told is kept. */
export interface Acked {
  readonly part: number;
  readonly offset: number;
  readonly value: string;
}

/** All of it. */
export interface Cluster {
  readonly dice: Dice;
  readonly network: Network;
  readonly nodes: TestNode[];
  readonly outstanding: Map<string, Outstanding>;
  /** Every version of the metadata; nodes hear them in order, each at its own pace. */
  readonly views: View[];
  readonly heard: Map<number, number>;
  readonly acked: Acked[];
  /** What readers have seen, by partition and offset. */
  readonly seen: Map<string, string>;
  /** Errors that producers were told. */
  readonly refused: number[];
  readonly reached: Set<string>;
  readonly inSyncMin: number;
  nowMs: number;
  sent: number;
  lives: number;
  /** Hear every call of a node, and every answer as it leaves, for transcripts. */
  onCall: (from: number, call: Call) => void;
  onAnswer: (call: Call, from: number, response: CallResponse) => void;
}

/** What a call is answered with. */
export type CallResponse = Extract<CallOutcome, { readonly response: unknown }>['response'];

/** The latest metadata. */
export function truth(cluster: Cluster): View {
  return cluster.views[cluster.views.length - 1] as View;
}

/** The node with this id. */
export function nodeOf(cluster: Cluster, id: number): TestNode {
  return cluster.nodes[id - 1] as TestNode;
}
