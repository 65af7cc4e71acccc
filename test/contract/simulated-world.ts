/** The simulated disk and network under the contract suite: pumped, never waited for. */
import type { DiskEffect, DiskInput } from '../../core/lib/world.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { createDisk, type DiskDue, finishDisk, submitDisk } from '../../runtime-sim/disk/disk.ts';
import { createQueue, pop, push, type Timed } from '../../runtime-sim/queue.ts';
import type { DiskUnderTest } from './world-under-test.ts';

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
