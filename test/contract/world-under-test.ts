/**
 * What the contract suite needs of a world: a disk and two ends of a network, driven by effects, answering by inputs.
 * Each world registers itself in `worlds.ts`; the suites themselves know none of them.
 *
 * A real world makes progress by itself and `settle`, `until` and `rest` only wait for it; a simulated one is pumped
 * by them.
 */
import type { DiskEffect, DiskError, DiskInput, NetworkEffect, NetworkInput } from '../../core/lib/world.ts';

/** One disk, empty but for the folder `root`. */
export interface DiskUnderTest {
  /** An absolute path, '/' between names: an existing, empty folder for the test. */
  readonly root: string;
  /** Hands over one effect; must return before it is answered. */
  execute(effect: DiskEffect): void;
  /** Waits until every effect is answered; the answers since the last call, in the order in which they came. */
  settle(): Promise<readonly DiskInput[]>;
  /** Makes the next effect of that kind fail with that error, after it may have done half of its work. */
  failNext(kind: 'append' | 'sync' | 'read' | 'replace', error: DiskError): void;
  /** Leaves nothing behind. */
  dispose(): Promise<void>;
}

/** One end of the network. */
export interface EndUnderTest {
  /** Hands over one effect; must return before it is answered. */
  execute(effect: NetworkEffect): void;
  /** All inputs so far, oldest first; grows. */
  readonly inputs: readonly NetworkInput[];
}

/** Two nodes that can reach each other. */
export interface NetworkUnderTest {
  /** The end that listens, and the one that connects. */
  readonly server: EndUnderTest;
  readonly client: EndUnderTest;
  /** Where the server may listen and the client finds it. */
  readonly host: string;
  /** A port of `host` on which nobody listens. */
  freePort(): Promise<number>;
  /** Lets the world go on until `condition` holds; rejects, naming `what`, when it does not come to hold. */
  until(what: string, condition: () => boolean): Promise<void>;
  /** Lets whatever is under way arrive: to see that something does not happen. */
  rest(): Promise<void>;
  /** Leaves nothing behind. */
  dispose(): Promise<void>;
}

/** One implementation of `core/lib/world.ts`. */
export interface WorldUnderTest {
  readonly name: string;
  /** A fresh disk; absent where this world has none of its own. */
  readonly createDisk?: () => Promise<DiskUnderTest>;
  /** A fresh network whose half-received frames may hold `frameBudgetBytes` at each end. */
  readonly createNetwork?: (options: { readonly frameBudgetBytes: number }) => Promise<NetworkUnderTest>;
}
