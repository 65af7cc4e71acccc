/** What nodes say to each other comes late, twice, or is never answered, while partitions move. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { TWO_REPLICAS } from './parts.ts';
import { THREE_LATE_WORDS } from './three-late-words.ts';

/** Two replicas on three nodes, or one: whoever leads has them come and go. */
export const THREE_LATE_MOVES: Scenario = {
  ...THREE_LATE_WORDS,
  name: 'three-late-moves',
  proves: 'What the controller decides of a partition that moves is taken in its order, whenever it is heard.',
  cluster: TWO_REPLICAS,
  workload: { ...THREE_LATE_WORDS.workload, moveEveryMs: [100, 900] },
};
