/** A producer inside a toy cluster, with a ledger of what it was given and what it said. */

import {
  checkProducer,
  createProducer,
  type Producer,
  type ProducerEvent,
  type ProducerOptions,
  produce,
  producerDeadlineMs,
  stepProducer,
} from '../../core/client/producer.ts';
import { createIds } from '../../core/lib/ids.ts';
import { carryOut, env, PORT, type Toy } from './toy-cluster.ts';

export interface Producing {
  readonly toy: Toy;
  readonly producer: Producer;
  readonly machine: number;
  readonly events: ProducerEvent[];
  /** Ticket to value. */
  readonly sent: Map<number, string>;
}

const encoder = new TextEncoder();

export function startProducing(toy: Toy, options: Partial<ProducerOptions> = {}): Producing {
  const producer = createProducer({
    clientId: 'test',
    ids: createIds(),
    bootstrap: [{ host: 'toy', port: PORT }],
    acks: -1,
    idempotent: true,
    lingerMs: 0,
    batchBytesMax: 1000,
    inFlightMax: 5,
    requestTimeoutMs: 1000,
    deliveryTimeoutMs: 60_000,
    retryBackoffMs: 20,
    compression: 0,
    seed: 7,
    ...options,
  });
  const events: ProducerEvent[] = [];
  toy.machines.push({
    step: (e, input, out) => {
      if ('connection' in input || input.kind === 'wake') stepProducer(producer, e, input as never, out, events);
    },
    deadlineMs: () => producerDeadlineMs(producer),
    check: () => checkProducer(producer),
  });
  return { toy, producer, machine: toy.machines.length - 1, events, sent: new Map() };
}

/** Sends one value; its ticket. */
export function give(producing: Producing, value: string, topic = 't', partition = 0): number {
  const { toy, producer, machine, sent } = producing;
  const out: never[] = [];
  const record = { topic, partition, key: null, value: encoder.encode(value) };
  const ticket = produce(producer, env(toy), record, out);
  checkProducer(producer);
  if (ticket !== -1) sent.set(ticket, value);
  carryOut(toy, machine, out);
  return ticket;
}

/** Whether every ticket has its event. */
export function allSettled({ events, sent }: Producing): boolean {
  return events.length === sent.size;
}

/** Tickets that have other than exactly one event. */
export function badTickets({ events, sent }: Producing): number[] {
  const counts = new Map<number, number>();
  for (const { ticket } of events) counts.set(ticket, (counts.get(ticket) ?? 0) + 1);
  const bad = [...sent.keys()].filter((ticket) => counts.get(ticket) !== 1);
  return [...bad, ...[...counts.keys()].filter((ticket) => !sent.has(ticket))];
}
