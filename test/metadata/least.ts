/** Processor time, for tests that print figures of machines that are shared. */

/** The least processor time of several runs, ms: other work on the machine does not count. */
export function least(runs: number, work: () => void): number {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
