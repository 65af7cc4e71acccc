/** The simulated disk and network under the contract suite: pumped, never waited for. */
import type { DiskEffect, DiskInput, NetworkInput } from '../../core/lib/world.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { createDisk, type DiskDue, finishDisk, submitDisk } from '../../runtime-sim/disk/disk.ts';
import { finishNetwork, submitNetwork } from '../../runtime-sim/network/flow.ts';
import { addHost, createNetwork, type Delivery, hostOf, type NetworkDue } from '../../runtime-sim/network/network.ts';
import { createQueue, pop, push, type Timed } from '../../runtime-sim/queue.ts';
import type { DiskUnderTest, EndUnderTest, NetworkUnderTest } from './world-under-test.ts';

let seed = 0;

/** A simulated disk; each has other dice. */
export async function simulatedDisk(): Promise<DiskUnderTest> {
  seed += 1;
  const dice = createDice(seed);
  const disk = createDisk(0);
  const queue = createQueue<Timed & DiskDue>();
  const answers: DiskInput[] = [];
  const due: DiskDue[] = [];
  let nowUs = 0;
  const take = (): void => {
    for (const { atUs, operation } of due) push(queue, { atUs, order: 0, operation });
    due.length = 0;
  };
  const pump = (): void => {
    for (let event = pop(queue); event !== undefined; event = pop(queue)) {
      nowUs = event.atUs;
      finishDisk(disk, dice, nowUs, event.operation, answers, due);
      take();
    }
  };
  submitDisk(disk, dice, nowUs, { kind: 'makeFolder', path: '/data', owner: 0, ticket: 0 }, due);
  take();
  pump();
  answers.length = 0;
  return {
    root: '/data',
    execute: (effect: DiskEffect) => {
      submitDisk(disk, dice, nowUs, effect, due);
      take();
    },
    settle: async () => {
      pump();
      return answers.splice(0);
    },
    failNext: (kind, error) => disk.failNext.set(kind, error),
    dispose: async () => {},
  };
}

/** A simulated network of two machines. Time moves only in `until` and `rest`. */
export async function simulatedNetwork(options: { readonly frameBudgetBytes: number }): Promise<NetworkUnderTest> {
  seed += 1;
  const dice = createDice(seed);
  const network = createNetwork();
  const queue = createQueue<Timed & NetworkDue>();
  const due: NetworkDue[] = [];
  let nowUs = 0;
  const take = (): void => {
    for (const { atUs, event } of due) push(queue, { atUs, order: 0, event });
    due.length = 0;
  };
  const makeEnd = (name: string): EndUnderTest & { readonly inputs: NetworkInput[] } => {
    const actor = addHost(network, name);
    hostOf(network, actor).frameBudgetBytes = options.frameBudgetBytes;
    return {
      inputs: [],
      execute: (effect) => {
        submitNetwork(network, dice, nowUs, actor, effect, due);
        take();
      },
    };
  };
  const ends = [makeEnd('server'), makeEnd('client')] as const;
  const pump = (untilUs: number): void => {
    const deliveries: Delivery[] = [];
    for (let next = queue.heap[0]; next !== undefined && next.atUs <= untilUs; next = queue.heap[0]) {
      pop(queue);
      nowUs = next.atUs;
      finishNetwork(network, dice, nowUs, next.event, deliveries, due);
      take();
      for (const { actor, input } of deliveries) ends[actor]?.inputs.push(input);
      deliveries.length = 0;
    }
    nowUs = untilUs;
  };
  return {
    server: ends[0],
    client: ends[1],
    host: 'server',
    freePort: async () => 9,
    until: async (what, condition) => {
      for (let turn = 0; !condition(); turn++) {
        if (turn > 10_000) throw new Error(`did not come to pass: ${what}`);
        pump(nowUs + 1_000);
      }
    },
    rest: async () => pump(nowUs + 50_000),
    dispose: async () => {},
  };
}
