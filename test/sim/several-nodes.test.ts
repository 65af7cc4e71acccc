/** A world of several nodes: what lies between them breaks in every way, one by one, and each has what is its own. */
import { expect, test } from 'vitest';
import { checkNode } from '../../core/broker/check.ts';
import { createNode, type Node, nodeDeadlineMs, stepNode } from '../../core/broker/node.ts';
import { parseSettings } from '../../core/config/parse.ts';
import type { NodeConfig } from '../../core/config/settings.ts';
import { type Actor, asAnyMachine } from '../../runtime-sim/actor.ts';
import { SIMULATED_CODECS } from '../../runtime-sim/codecs.ts';
import { filesOf } from '../../runtime-sim/disk/tree.ts';
import { directionKey, type NetworkDue } from '../../runtime-sim/network/network.ts';
import { clog, cut, cutKey, heal, healSome } from '../../runtime-sim/network/trouble.ts';
import { pauseActor, resumeActor } from '../../runtime-sim/pause.ts';
import { traceHash } from '../../runtime-sim/trace.ts';
import {
  addActor,
  crashActor,
  createWorld,
  type Hooks,
  queueNetwork,
  runUntil,
  startAt,
  type World,
} from '../../runtime-sim/world.ts';
import { KEYS, TALKER, type Talker } from './talker.ts';

const HOOKS: Hooks = { onTrouble: () => {}, onDown: () => {}, onStart: () => {}, onStepped: () => {} };
const HOSTS = ['one', 'two', 'three'];

interface Scene {
  readonly world: World;
  readonly actors: readonly Actor[];
}

function talkers(seed = 1): Scene {
  const world = createWorld(seed, SIMULATED_CODECS, true);
  const actors = HOSTS.map((host, self) => addActor(world, host, 'node', TALKER, { self, hosts: HOSTS }));
  for (const actor of actors) startAt(world, actor, 0);
  runUntil(world, 200_000, HOOKS);
  return { world, actors };
}

function actorAt({ actors }: Scene, index: number): Actor {
  const actor = actors[index];
  if (actor === undefined) throw new Error('no such actor');
  return actor;
}

function talkerAt(scene: Scene, index: number): Talker {
  return actorAt(scene, index).state as Talker;
}

/** How much `to` hears of each pair of speaker and key within some time. */
function heardIn(scene: Scene, us: number): (to: number, from: number, apiKey?: number) => number {
  const before = scene.actors.map((_, index) => talkerAt(scene, index).heard.length);
  runUntil(scene.world, scene.world.nowUs + us, HOOKS);
  return (to, from, apiKey) => {
    const heard = talkerAt(scene, to).heard.slice(before[to]);
    return heard.filter((one) => one.from === from && (apiKey ?? one.apiKey) === one.apiKey).length;
  };
}

function healed({ world }: Scene, directions: readonly number[] | null): void {
  const due: NetworkDue[] = [];
  if (directions === null) heal(world.network, world.dice, world.nowUs, due);
  else healSome(world.network, world.dice, world.nowUs, new Set(directions), due);
  queueNetwork(world, due);
}

test('two of three that hear nothing of each other are both heard by the third, and all once it is healed', () => {
  const scene = talkers();
  cut(scene.world.network, 0, 1);
  cut(scene.world.network, 1, 0);
  runUntil(scene.world, scene.world.nowUs + 50_000, HOOKS);
  const heard = heardIn(scene, 300_000);
  expect([heard(0, 1), heard(1, 0)]).toEqual([0, 0]);
  expect(Math.min(heard(2, 0), heard(2, 1), heard(0, 2), heard(1, 2))).toBeGreaterThan(20);
  healed(scene, null);
  const after = heardIn(scene, 300_000);
  expect(Math.min(after(0, 1), after(1, 0))).toBeGreaterThan(20);
});

test('a cut one way silences one way', () => {
  const scene = talkers();
  cut(scene.world.network, 0, 1);
  runUntil(scene.world, scene.world.nowUs + 50_000, HOOKS);
  const heard = heardIn(scene, 300_000);
  expect(heard(1, 0)).toBe(0);
  expect(heard(0, 1)).toBeGreaterThan(20);
});

test('of two cuts one may be healed alone', () => {
  const scene = talkers();
  cut(scene.world.network, 0, 1);
  cut(scene.world.network, 0, 2);
  runUntil(scene.world, scene.world.nowUs + 50_000, HOOKS);
  healed(scene, [directionKey(0, 1)]);
  const heard = heardIn(scene, 300_000);
  expect(heard(1, 0)).toBeGreaterThan(20);
  expect(heard(2, 0)).toBe(0);
});

test('a cut of one API lets the connections of others be, and what was held up comes in the order of sending', () => {
  const scene = talkers();
  const [cutOne, other] = KEYS as [number, number];
  cutKey(scene.world.network, 0, 1, cutOne);
  runUntil(scene.world, scene.world.nowUs + 50_000, HOOKS);
  const heard = heardIn(scene, 300_000);
  expect(heard(1, 0, cutOne)).toBe(0);
  expect(Math.min(heard(1, 0, other), heard(2, 0, cutOne), heard(0, 1, cutOne))).toBeGreaterThan(20);
  healed(scene, null);
  runUntil(scene.world, scene.world.nowUs + 100_000, HOOKS);
  const numbers = talkerAt(scene, 1).heard.filter(({ from, apiKey }) => from === 0 && apiKey === cutOne);
  expect(numbers.map(({ number }) => number)).toEqual(numbers.map((_, index) => index + 1));
  expect(numbers.length).toBeGreaterThan(50);
});

test('a clogged link is late one way only', () => {
  const scene = talkers();
  clog(scene.world.network, 0, 1, 400_000);
  runUntil(scene.world, scene.world.nowUs + 20_000, HOOKS);
  const heard = heardIn(scene, 100_000);
  expect(heard(0, 1)).toBeGreaterThan(8);
  expect(heard(1, 0)).toBeLessThan(heard(0, 1));
});

test('a paused process hears everything later, in order, and its clock has gone on', () => {
  const scene = talkers();
  const { world } = scene;
  const paused = actorAt(scene, 1);
  expect(pauseActor(world, paused)).toBe(true);
  expect(pauseActor(world, paused)).toBe(false);
  const heardBefore = talkerAt(scene, 1).heard.length;
  const lastMs = talkerAt(scene, 1).heard.at(-1)?.atMs ?? 0;
  const others = heardIn(scene, 400_000);
  expect(talkerAt(scene, 1).heard.length).toBe(heardBefore);
  expect(others(0, 1)).toBeLessThan(3);
  resumeActor(world, paused, HOOKS);
  const heard = heardIn(scene, 50_000);
  expect(heard(1, 0)).toBeGreaterThan(60);
  expect((talkerAt(scene, 1).heard[heardBefore]?.atMs ?? 0) - lastMs).toBeGreaterThanOrEqual(390);
  const numbers = talkerAt(scene, 1).heard.filter(({ from, apiKey }) => from === 0 && apiKey === KEYS[0]);
  expect(numbers.map(({ number }) => number)).toEqual(numbers.map((_, index) => index + 1));
});

test('a process that is killed while it is paused is dead, and its next life is not paused', () => {
  const scene = talkers();
  const { world } = scene;
  const killed = actorAt(scene, 1);
  pauseActor(world, killed);
  crashActor(world, killed, false, HOOKS);
  resumeActor(world, killed, HOOKS);
  startAt(world, killed, world.nowUs + 10_000);
  const heard = heardIn({ world, actors: [actorAt(scene, 0)] }, 300_000);
  expect(heard(0, 1)).toBeGreaterThan(20);
  expect(talkerAt(scene, 1).heard.length).toBeGreaterThan(20);
});

const NODE = asAnyMachine<Node, NodeConfig>({
  create: createNode,
  step: stepNode,
  deadlineMs: nodeDeadlineMs,
  check: checkNode,
});

function threeAlone(seed: number): { world: World; nodes: Actor[] } {
  const world = createWorld(seed, SIMULATED_CODECS, true);
  const nodes = HOSTS.map((host, index) => {
    const texts = new Map([
      ['node.id', String(index + 1)],
      ['listeners', `PLAINTEXT://${host}:9092`],
      ['log.dirs', '/data'],
      ['tidemark.topics', 'orders:1'],
    ]);
    return addActor(world, host, 'node', NODE, parseSettings(texts).config);
  });
  for (const node of nodes) startAt(world, node, 0);
  runUntil(world, 2_000_000, HOOKS);
  return { world, nodes };
}

test('each node has a disk, a cluster id and a life of its own', () => {
  const { world, nodes } = threeAlone(3);
  expect(nodes.map(({ isReady }) => isReady)).toEqual([true, true, true]);
  expect(new Set(nodes.map(({ state }) => (state as Node).clusterId)).size).toBe(3);
  const [first, second, third] = nodes as [Actor, Actor, Actor];
  crashActor(world, second, true, HOOKS);
  runUntil(world, 3_000_000, HOOKS);
  expect([first.down, second.down, third.down]).toEqual([null, 'powerLost', null]);
  expect([first.starts, second.starts]).toEqual([1, 1]);
  const paths = nodes.map(({ disk }) => (disk === null ? [] : filesOf(disk.tree).map(({ path }) => path)));
  for (const list of paths) expect(list).toContain('/data/orders-0/partition.metadata');
  startAt(world, second, world.nowUs);
  runUntil(world, 5_000_000, HOOKS);
  expect(nodes.map(({ isReady }) => isReady)).toEqual([true, true, true]);
});

test('a world of several nodes is the same twice', () => {
  const hashes = [5, 5, 6].map((seed) => traceHash(threeAlone(seed).world.trace));
  expect(hashes[0]).toBe(hashes[1]);
  expect(hashes[0]).not.toBe(hashes[2]);
});
