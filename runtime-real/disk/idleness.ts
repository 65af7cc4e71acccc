/**
 * Waiting until nothing is under way, without asking again and again: whoever ends something says so, and those who
 * wait are told when it was the last. A crash forgets them.
 */

/** Those who wait until something is idle. */
export interface Idleness {
  /** Resolves when it is idle, at once if it is now. */
  wait(): Promise<void>;
  /** Something has ended. Costs next to nothing while nobody waits. */
  changed(): void;
}

/** Nobody waits yet. */
export function createIdleness(isIdle: () => boolean): Idleness {
  let waiting: (() => void)[] = [];
  return {
    wait: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    changed: () => {
      if (waiting.length === 0 || !isIdle()) return;
      const told = waiting;
      waiting = [];
      for (const resolve of told) resolve();
    },
  };
}
