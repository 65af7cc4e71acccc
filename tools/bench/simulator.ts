/**
 * What the simulator costs: whole runs, their checks and clients included, one after the other in this process.
 *
 *   npm run bench -- --simulator              seeds of one node and of three nodes, in turn
 *   npm run bench -- --simulator --seeds 60 --json
 *
 * An event is one input of one machine. Times are processor time, the collector's and the compiler's threads included,
 * so that other work on the machine does not count; the first seeds of each kind warm up and are not measured.
 */
import { runSeed } from '../../runtime-sim/run.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { CRASH_IDEMPOTENT } from '../../scenarios/crash-idempotent.ts';
import { THREE_CRASH } from '../../scenarios/three-crash.ts';
import { ownProcessorMs } from '../peers/process.ts';
import { median } from './figures.ts';

/** What to measure. */
export interface SimulatorOptions {
  /** Seeds of each kind. */
  readonly seeds: number;
  /** Takes a line for whoever waits. */
  readonly say: (line: string) => void;
}

/** What the runs of one kind came to. */
export interface SimulatorFigures {
  readonly kind: string;
  readonly scenario: string;
  readonly seeds: number;
  readonly events: number;
  readonly simulatedMs: number;
  readonly processorMs: number;
  /** Of the seed in the middle. */
  readonly eventsPerSecond: number;
  /** What `RUN_EVENTS` events take at that. */
  readonly runSeconds: number;
  /** What is asked for. */
  readonly budget: { readonly eventsPerSecond?: number; readonly runSeconds?: number };
}

/** Events of the run that a budget is given for: three nodes under faults, for 60 simulated seconds. */
const RUN_EVENTS = 25_000;
/** Seeds that warm up each kind. */
const WARM_UP = 10;

interface Kind {
  readonly kind: string;
  readonly scenario: Scenario;
  readonly budget: SimulatorFigures['budget'];
}

const KINDS: readonly Kind[] = [
  { kind: 'one node', scenario: CRASH_IDEMPOTENT, budget: { eventsPerSecond: 50_000 } },
  { kind: 'three nodes', scenario: THREE_CRASH, budget: { runSeconds: 0.5 } },
];

interface Played {
  readonly events: number;
  readonly simulatedMs: number;
  readonly processorMs: number;
}

/** Plays the seeds of each kind. */
export function measureSimulator({ seeds, say }: SimulatorOptions): SimulatorFigures[] {
  return KINDS.map((kind) => {
    for (let seed = 1; seed <= WARM_UP; seed++) playOne(kind.scenario, seed);
    say(`${kind.kind}: warm`);
    const played = Array.from({ length: seeds }, (_, index) => playOne(kind.scenario, WARM_UP + 1 + index));
    return figuresOf(kind, played);
  });
}

function playOne(scenario: Scenario, seed: number): Played {
  let played = { events: 0, simulatedMs: 0 };
  const processorMs = ownProcessorMs(() => {
    const { figures, violations } = runSeed({ seed, scenarios: [scenario] });
    const [broken] = violations;
    if (broken !== undefined) throw new Error(`seed ${seed} of ${scenario.name} is not clean: ${broken.sentence}`);
    played = { events: figures.events, simulatedMs: figures.simulatedMs };
  });
  return { ...played, processorMs };
}

function figuresOf({ kind, scenario, budget }: Kind, played: readonly Played[]): SimulatorFigures {
  const sum = (key: keyof Played): number => played.reduce((total, one) => total + one[key], 0);
  const eventsPerSecond = median(played.map(({ events, processorMs }) => (events * 1000) / processorMs));
  return {
    kind,
    scenario: scenario.name,
    seeds: played.length,
    events: sum('events'),
    simulatedMs: sum('simulatedMs'),
    processorMs: sum('processorMs'),
    eventsPerSecond,
    runSeconds: RUN_EVENTS / eventsPerSecond,
    budget,
  };
}

/** Whether a kind is as fast as it must be. */
export function keepsSimulatorBudget({ eventsPerSecond, runSeconds, budget }: SimulatorFigures): boolean {
  return eventsPerSecond >= (budget.eventsPerSecond ?? 0) && runSeconds <= (budget.runSeconds ?? Infinity);
}

/** The figures as lines for people, one a kind. */
export function simulatorLines(all: readonly SimulatorFigures[]): string {
  const lines = all.map((figures) => {
    const { kind, scenario, seeds, events, simulatedMs, eventsPerSecond, runSeconds, budget } = figures;
    const asked = budget.runSeconds === undefined ? `${budget.eventsPerSecond} events/s` : `${budget.runSeconds} s`;
    const speed = `${Math.round(eventsPerSecond)} events/s, ${RUN_EVENTS} in ${runSeconds.toFixed(3)} s`;
    const size = `${seeds} seeds of ${scenario}, ${events} events in ${Math.round(simulatedMs / 1000)} simulated s`;
    const verdict = keepsSimulatorBudget(figures) ? 'kept' : 'MISSED';
    return `simulator, ${kind}: ${speed} (wanted: ${asked}, ${verdict}); ${size}`;
  });
  return `${lines.join('\n')}\n`;
}
