/** An operator adds and removes voters of the quorum, and disks are replaced, while all else goes wrong that may. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import {
  FIVE_NODES,
  QUICK_TURNS,
  SELDOM_ADMINISTERED_LOAD_ON_THREE,
  SMALL_FILES,
  SMALL_LAGS,
  SMALL_METADATA,
} from './parts.ts';

/**
 * Five controllers that come and go, the active one among them. All machines do not lose their power at once: with a
 * disk on top a partition would wait for the one replica that is known to have all of it, and is gone.
 */
export const VOTERS_COME_AND_GO: Scenario = {
  name: 'voters-come-and-go',
  proves:
    'Whoever votes and whoever stops voting, one controller leads at a time and nothing that is committed is lost.',
  durationMs: 15_000,
  weight: 2,
  cluster: FIVE_NODES,
  workload: {
    ...SELDOM_ADMINISTERED_LOAD_ON_THREE,
    changeVotersEveryMs: [100, 1_500],
    repeatBetweenEveryMs: [50, 500],
  },
  settings: [...SMALL_FILES, ...SMALL_METADATA, ...SMALL_LAGS, ...QUICK_TURNS],
  troubles: [
    { family: 'crash', every: [2_000, 12_000] },
    { family: 'crash', every: [3_000, 12_000], on: 'controller' },
    { family: 'powerLoss', every: [3_000, 12_000] },
    { family: 'cleanStop', every: [4_000, 20_000] },
    { family: 'pause', every: [3_000, 15_000] },
    { family: 'pairCut', every: [1_500, 12_000] },
    { family: 'isolation', every: [3_000, 15_000] },
    { family: 'isolation', every: [4_000, 15_000], on: 'controller' },
    { family: 'keyCut', every: [2_000, 12_000] },
    { family: 'clog', every: [2_000, 12_000] },
    { family: 'reset', every: [1_000, 8_000] },
    { family: 'slowDisk', every: [3_000, 12_000] },
    { family: 'fullDisk', every: [4_000, 20_000] },
    { family: 'failedSync', every: [5_000, 25_000] },
    { family: 'diskLoss', every: [4_000, 15_000] },
    { family: 'clientCrash', every: [4_000, 15_000] },
    { family: 'standstill', every: [4_000, 15_000], on: 'controller' },
    { family: 'diskLoss', every: [4_000, 15_000], on: 'controller' },
    { family: 'slowElection', every: [300, 2_000] },
  ],
};
