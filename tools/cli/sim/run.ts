/** `sim run`: one seed, told in words or as one JSON object. */
import type { RunResult } from '../../../runtime-sim/result.ts';
import { runSeed } from '../../../runtime-sim/run.ts';
import type { Scenario } from '../../../runtime-sim/scenario.ts';
import { EVERY_SCENARIO, scenariosFor } from './arguments.ts';
import { reproduction, verdictText } from './summary.ts';

/** What to run and how to tell it. */
export interface RunCommand {
  readonly seed: number;
  readonly scenario: Scenario | null;
  readonly durationMs: number | null;
  /** Without a scenario, the seed draws one in which nothing is spared. */
  readonly isUnlimited: boolean;
  readonly isJson: boolean;
  /** Lines of the story, from its end. */
  readonly storyLines: number;
}

/** Plays the seed and tells; the exit code. */
export function run(command: RunCommand): number {
  const scenarios = scenariosFor(command.scenario?.name ?? null, command.isUnlimited);
  const startedAt = performance.now();
  const duration = command.durationMs === null ? {} : { durationMs: command.durationMs };
  const result = runSeed({ seed: command.seed, scenarios, ...duration });
  const tookMs = performance.now() - startedAt;
  const text = command.isJson ? jsonText(result, tookMs, command) : wordsText(result, tookMs, command);
  process.stdout.write(`${text}\n`);
  return result.verdict === 'failed' ? 1 : 0;
}

function again(result: RunResult, command: RunCommand): string {
  return reproduction(result.seed, { ...command, scenario: command.scenario?.name ?? null });
}

function jsonText(result: RunResult, tookMs: number, command: RunCommand): string {
  const { seed, hash, verdict, scenario, figures, plan, violations, excused, excuses } = result;
  return JSON.stringify({
    seed,
    hash,
    verdict: verdictText(verdict, plan.isUnlimited),
    scenario,
    events: figures.events,
    simulatedMs: figures.simulatedMs,
    tookMs: Math.round(tookMs),
    eventsPerSecond: Math.round((figures.events * 1000) / tookMs),
    figures,
    plan,
    violations,
    excused,
    excuses,
    troubles: Object.fromEntries(result.struck),
    marks: Object.fromEntries(result.marks),
    again: again(result, command),
  });
}

function wordsText(result: RunResult, tookMs: number, command: RunCommand): string {
  const { figures, plan } = result;
  const proves = EVERY_SCENARIO.find(({ name }) => name === result.scenario)?.proves ?? '';
  const lines = [`seed ${result.seed}, scenario ${result.scenario}: ${proves}`];
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
  const clients = `${count(plan.producers.length, 'producer')} and 2 readers on ${count(plan.partitions, 'partition')}`;
  const { nodes, replicas } = plan.cluster;
  lines.push(nodes === 1 ? clients : `${clients} of ${count(replicas, 'replica')}, ${nodes} nodes`);
  const troubles = plan.troubles.map(({ family, every, on }) => {
    if (family === 'recoveryCrash') return `${family} in ${every} % of starts`;
    return `${family}${on === 'any' ? '' : ` of the ${on}`} every ${every} ms or so`;
  });
  lines.push(`troubles: ${troubles.length === 0 ? 'none' : troubles.join(', ')}`);
  const story = result.lines.slice(Math.max(0, result.lines.length - command.storyLines));
  if (story.length < result.lines.length) lines.push(`… ${result.lines.length - story.length} lines before these`);
  for (const { atUs, actor, text } of story)
    lines.push(`${(atUs / 1_000_000).toFixed(6).padStart(11)} ${actor} ${text}`);
  lines.push(
    `${figures.sends} records sent: ${figures.acknowledged} acknowledged in ${figures.acknowledgedBatches} batches, ` +
      `${figures.failed} failed, ${figures.unknown} unknown; ${figures.reads} read`,
    `${figures.crashes} crashes, ${figures.powerLosses} power losses, ${figures.recoveriesCrashed} of them in ` +
      `recovery; ${figures.starts} starts; ${figures.filesTorn} files torn, ${figures.filesCut} cut, ` +
      `${figures.filesLost} lost new bytes, ${figures.namesLost} names lost`,
    `${figures.connections} connections, ${figures.resets} reset; ${figures.diskErrors} disk errors; ` +
      `${figures.bitsRotten} bits rotten`,
    `${figures.events} events in ${(figures.simulatedMs / 1000).toFixed(1)} simulated seconds, ` +
      `${Math.round(tookMs)} ms here (${Math.round((figures.events * 1000) / tookMs)} events a second)`,
  );
  for (const { promise, checker, sentence } of result.violations) {
    lines.push(`promise ${promise} broken, ${checker}: ${sentence}`);
  }
  for (const { checker, sentence } of result.excused) lines.push(`beyond the promises, ${checker}: ${sentence}`);
  for (const excuse of result.excuses) lines.push(`because ${excuse}`);
  lines.push(
    `hash ${result.hash}`,
    `verdict ${verdictText(result.verdict, plan.isUnlimited)}`,
    `again: ${again(result, command)}`,
  );
  return lines.join('\n');
}
