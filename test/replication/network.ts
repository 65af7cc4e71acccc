/**
 * Connections between the nodes of a test's cluster: bytes arrive in their order or the connection ends, and a cut link
 * is silent. What is delivered next is for the test to choose.
 */
import type { Dice } from '../log/disk.ts';

interface Message {
  readonly generation: number;
  readonly deliver: () => void;
}

/** All links, by `from>to`. */
export interface Network {
  readonly queues: Map<string, Message[]>;
  /** Grows whenever a connection between two nodes ends, by `low-high`. */
  readonly generations: Map<string, number>;
  /** Links that deliver nothing. */
  readonly cut: Set<string>;
}

/** No messages. */
export function createNetwork(): Network {
  return { queues: new Map(), generations: new Map(), cut: new Set() };
}

const pairOf = (a: number, b: number): string => `${Math.min(a, b)}-${Math.max(a, b)}`;

/** The life of the connection between two nodes. */
export function generationOf(network: Network, a: number, b: number): number {
  return network.generations.get(pairOf(a, b)) ?? 0;
}

/** Sends on the connection of today. */
export function send(network: Network, from: number, to: number, deliver: () => void): void {
  const key = `${from}>${to}`;
  const queue = network.queues.get(key) ?? [];
  network.queues.set(key, queue);
  queue.push({ generation: generationOf(network, from, to), deliver });
}

/** The connection between two nodes ends: what is on its way is lost. */
export function breakConnection(network: Network, a: number, b: number): void {
  network.generations.set(pairOf(a, b), generationOf(network, a, b) + 1);
  network.queues.delete(`${a}>${b}`);
  network.queues.delete(`${b}>${a}`);
}

/** Delivers the next message of a link that the dice choose; false when nothing is on its way. */
export function deliverOne(network: Network, dice: Dice): boolean {
  const ready = [...network.queues].filter(([key, queue]) => queue.length > 0 && !network.cut.has(key));
  const chosen = ready[Math.floor(dice() * ready.length)];
  if (chosen === undefined) return false;
  const message = chosen[1].shift() as Message;
  const [from, to] = chosen[0].split('>').map(Number) as [number, number];
  if (message.generation === generationOf(network, from, to)) message.deliver();
  return true;
}
