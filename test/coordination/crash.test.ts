/**
 * Crashes at any effect, full disks, clean stops and snapshots, under a machine that counts. Whatever was answered must
 * be there after every start, a request is there whole or not at all, and a replay of what lies on the disk, done here
 * by other means, must give the live state.
 */
import { expect, it } from 'vitest';
import { readRecords } from '../../core/protocol/records.ts';
import { checkpointOf } from '../../core/raft/names.ts';
import { createDice, FAKE_CODECS } from '../log/world.ts';
import { TALLY } from './tally.ts';
import {
  beginOpen,
  countersOf,
  createQuorumWorld,
  fileOf,
  format,
  namesIn,
  type QuorumWorld,
  restart,
  settleAll,
  stepOnce,
  stopCleanly,
  submit,
  wake,
} from './world.ts';

interface Story {
  readonly world: QuorumWorld;
  /** By waiter: the counter of each request has the waiter's number as its name. */
  readonly asked: Map<number, number>;
  readonly answered: Set<number>;
  /** Seen in a committed view: it must never go. */
  readonly seen: Set<number>;
  next: number;
  crashes: number;
}

const SEEDS = 60;
const START = 61;

function hear(story: Story): void {
  for (const event of story.world.events.splice(0)) {
    if (event.kind === 'failed') throw new Error(event.detail);
    if (event.kind === 'answered') story.answered.add(event.waiter);
    if (event.kind === 'changed') for (const name of event.change) noteSeen(story, name);
  }
}

function noteSeen(story: Story, name: string): void {
  if (name !== 'first') story.seen.add(Number(name));
}

/** Records of a file of batches: values, with the offset of each. */
function* recordsOf(bytes: Uint8Array): Generator<{ offset: number; value: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at + START <= bytes.length; ) {
    const size = view.getInt32(at + 8) + 12;
    const isControl = (view.getInt16(at + 21) & 32) !== 0;
    for (const record of isControl ? [] : readRecords(bytes.subarray(at, at + size), FAKE_CODECS)) {
      yield { offset: record.offset, value: record.value ?? new Uint8Array() };
    }
    at += size;
  }
}

/** What the newest snapshot and the log behind it come to, read from the disk at rest. */
function replayed(world: QuorumWorld): ReadonlyMap<string, number> {
  const loading = TALLY.beginLoad();
  const load = (value: Uint8Array): void => {
    const decoded = TALLY.decode(value);
    if ('problem' in decoded) throw new Error(decoded.problem);
    const nowhere = { baseOffset: 0, nextOffset: 1, leaderEpoch: 0, timestampMs: 0 };
    TALLY.load(loading, [decoded.record], nowhere, false);
  };
  const names = namesIn(world);
  const newest = names.filter((name) => (checkpointOf(name)?.endOffset ?? 0) > 0).at(-1);
  if (newest !== undefined) for (const { value } of recordsOf(fileOf(world, newest))) load(value);
  const from = newest === undefined ? 0 : (checkpointOf(newest)?.endOffset ?? 0);
  for (const name of names.filter((other) => other.endsWith('.log'))) {
    for (const { offset, value } of recordsOf(fileOf(world, name))) if (offset >= from) load(value);
  }
  return loading.counters;
}

function compare(story: Story): void {
  const { world } = story;
  hear(story);
  expect(world.quorum.coordinator.stage).toBe('active');
  const live = countersOf(world);
  expect(TALLY.isEqual(replayed(world), live)).toBe(true);
  for (const waiter of [...story.answered, ...story.seen]) {
    expect(live.get(String(waiter)), `waiter ${waiter}`).toBe(story.asked.get(waiter));
  }
  for (const [name, sum] of live) {
    // Whole or not at all.
    if (name !== 'first') expect(sum).toBe(story.asked.get(Number(name)));
    else expect(sum).toBe(1);
  }
}

function die(story: Story): void {
  const { world } = story;
  hear(story);
  const { dice } = world;
  story.crashes++;
  restart(world, dice() < 0.4 ? 'process' : 'power');
  world.disk.capacityBytes = Infinity;
  while (dice() < 0.3) {
    beginOpen(world);
    for (let i = Math.floor(dice() * 60); i > 0; i--) stepOnce(world);
    restart(world, dice() < 0.4 ? 'process' : 'power');
  }
  beginOpen(world);
  settleAll(world);
  compare(story);
}

function ask(story: Story): void {
  const { world } = story;
  const waiter = story.next++;
  const count = 1 + Math.floor(world.dice() * 4);
  const amounts = Array.from({ length: count }, (_, i) => i + 1);
  const submission = submit(world, { name: String(waiter), amounts, isAtomic: true }, waiter);
  if (submission.kind === 'refused') return;
  story.asked.set(
    waiter,
    amounts.reduce((sum, amount) => sum + amount, 0),
  );
}

function act(story: Story): void {
  const { world } = story;
  const { dice } = world;
  const cast = dice();
  if (cast < 0.3) ask(story);
  else if (cast < 0.92) stepOnce(world);
  else if (cast < 0.95) world.disk.capacityBytes = dice() < 0.4 ? 1000 + Math.floor(dice() * 20_000) : Infinity;
  else if (cast < 0.97) wake(world);
  else if (cast < 0.975) {
    settleAll(world);
    hear(story);
    if (world.quorum.coordinator.stage !== 'active') return;
    world.disk.capacityBytes = Infinity;
    stopCleanly(world);
    beginOpen(world, true);
    settleAll(world);
    compare(story);
  } else if (cast > 0.99) die(story);
  hear(story);
}

function play(seed: number): Story {
  const dice = createDice(seed);
  const snapshotBytes = 300 + Math.floor(dice() * 3000);
  const world = format(createQuorumWorld({ dice, snapshotBytes }));
  const story: Story = { world, asked: new Map(), answered: new Set(), seen: new Set(), next: 0, crashes: 0 };
  beginOpen(world);
  for (let i = 0; i < 700; i++) act(story);
  world.disk.capacityBytes = Infinity;
  for (let i = 0; i < 20; i++) {
    settleAll(world);
    wake(world);
  }
  settleAll(world);
  compare(story);
  return story;
}

it('keeps what was answered, and replays to the live state, through crashes, full disks, stops and snapshots', () => {
  const reached = new Set<string>();
  let crashes = 0;
  let answered = 0;
  // RAFT_SEED=7 plays one seed, RAFT_SEED=0..999 many.
  const only = process.env.RAFT_SEED;
  const [first, last] = (only ?? `0..${SEEDS - 1}`).split('..').map(Number) as [number, number?];
  for (let seed = first; seed <= (last ?? first); seed++) {
    try {
      const story = play(seed);
      crashes += story.crashes;
      answered += story.answered.size;
      for (const mark of story.world.reached) reached.add(mark);
    } catch (error) {
      throw new Error(`seed ${seed} (RAFT_SEED=${seed})`, { cause: error });
    }
  }
  if (only !== undefined) return;
  expect(crashes).toBeGreaterThan(100);
  expect(answered).toBeGreaterThan(1000);
  const rare = ['raft.snapshot.written', 'raft.snapshot.given_up', 'raft.resigned', 'raft.election.no_space'];
  for (const mark of [...rare, 'raft.opening.leftover', 'log.recovery.torn_tail']) expect(reached).toContain(mark);
});
