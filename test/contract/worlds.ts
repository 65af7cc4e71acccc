/** Every world that must keep the contract of `core/lib/world.ts`. A new world is one line here. */
import { memoryDisk, realDisk, realNetwork } from './real-world.ts';
import { simulatedDisk, simulatedNetwork } from './simulated-world.ts';
import type { WorldUnderTest } from './world-under-test.ts';

/** The worlds, in the order in which the suites run them. */
export const WORLDS: readonly WorldUnderTest[] = [
  { name: 'real', createDisk: realDisk, createNetwork: realNetwork },
  { name: 'memory', createDisk: memoryDisk },
  { name: 'simulated', createDisk: simulatedDisk, createNetwork: simulatedNetwork },
];
