/**
 * One node: it owns every machine of this process and hands each input to the machine that it is meant for.
 *
 * A step takes one input, then finishes what it has set off: touched partitions raise their watermarks and answer
 * producers, ripe fetches are answered, connections send and take up more. Nothing is left over for the next step,
 * and nothing is walked over that the step did not touch.
 *
 * All state is in `Node`; a crash forgets it, and the next life finds what was durable through `boot.ts`.
 */
import type { NodeConfig } from '../config/settings.ts';
import { assert, unreachable } from '../lib/assert.ts';
import { createHeap, earliestMs, takeDue } from '../lib/heap.ts';
import { createIds, nextOwner } from '../lib/ids.ts';
import { createQueue } from '../lib/queue.ts';
import type { DiskInput, Env, HostInput, Input, Outbox } from '../lib/world.ts';
import { EMPTY_IMAGE } from '../metadata/image.ts';
import { listenersOf } from './addresses.ts';
import { finishProduce } from './api/00-produce.ts';
import { bootNode, stepBoot } from './boot/boot.ts';
import { bootListening, proceedBoot } from './boot/boot-serve.ts';
import { checkNode, checkSlice } from './check.ts';
import { createCheckpoints, stepCheckpoints, wakeCheckpoints } from './checkpoints/checkpoints.ts';
import { stepRemoval, wakeRemoval } from './checkpoints/removal.ts';
import { acceptConnection, dropConnection, noteSent, pumpConnection, takeFrame } from './connections.ts';
import { createControllerCalls, wakeControllerCalls } from './control/controller-calls.ts';
import { stepController, wakeController } from './control/controller-host.ts';
import { heartbeatCut } from './control/controller-work.ts';
import { createLifecycle, wakeLifecycle } from './control/lifecycle.ts';
import { createPeers, settlePeers, stepPeers, wakePeers } from './control/peers.ts';
import { createProducerIds } from './control/producer-ids.ts';
import { takeDrawn } from './groups/calls.ts';
import { wakeHost } from './groups/hosting.ts';
import { answerFinding } from './groups/offsets-topic.ts';
import { createGroups } from './groups/state.ts';
import { createContact } from './partitions/contact.ts';
import { harvest, wakeFetch } from './partitions/fetch.ts';
import { beginAhead } from './partitions/fetch-ahead.ts';
import { createSessions } from './partitions/fetch-sessions.ts';
import { createFollowers, pumpFollowers, wakeFollowers } from './partitions/followers.ts';
import { createInSyncHost, pumpInSync } from './partitions/in-sync.ts';
import { settlePartition, stepPartition, wakePartition } from './partitions/partitions.ts';
import { createTopics, stepTopics, wakeTopics } from './partitions/topics.ts';
import type { Machine, Node, Waking } from './state.ts';
import { proceedStop, stepStop, stopNode, wakeStop } from './stop.ts';

export type { Node } from './state.ts';

/** The whole node is checked once in so many steps, */
const STEPS_PER_CHECK = 4096;
/** and so many more for each machine, so that checking costs a small share of the work however many there are. */
const STEPS_PER_MACHINE = 64;
/** A node of more machines is not checked as a whole, which would hold up its clients: a slice each time, in turn. */
const WHOLE_MACHINES_MAX = 2_000;
/** Passes over what a step has set off; a pass answers requests that were read, and those are bounded. */
const PASSES_MAX = 1_000_000;

/** A node that has not been started: its first input is 'start'. The first of log.dirs is an absolute path. */
export function createNode(config: NodeConfig): Node {
  const ids = createIds();
  const topics = createTopics(nextOwner(ids), config);
  const lifecycle = createLifecycle(nextOwner(ids));
  const checkpoints = createCheckpoints(nextOwner(ids));
  const groups = createGroups(ids);
  const folder = config['log.dirs'][0] ?? '';
  return {
    configured: config,
    config,
    ids,
    nodeId: config['node.id'],
    folder: folder.length > 1 && folder.endsWith('/') ? folder.slice(0, -1) : folder,
    stage: 'new',
    clusterId: '',
    directoryId: '',
    image: EMPTY_IMAGE,
    checkedImage: EMPTY_IMAGE,
    unapplied: [],
    controller: null,
    controllerCalls: createControllerCalls(),
    lifecycle,
    peers: createPeers(ids, config['node.id'], config['socket.request.max.bytes']),
    followers: createFollowers(),
    inSync: createInSyncHost(ids, config['node.id']),
    contact: createContact(),
    machines: new Map<number, Machine>(
      [topics, lifecycle, checkpoints, groups].map((machine) => [machine.owner, machine]),
    ),
    deadlines: createHeap(),
    topics,
    producerIds: createProducerIds(),
    groups,
    checkpoints,
    sessions: createSessions(),
    boot: null,
    stop: null,
    listeners: listenersOf(config),
    connections: new Map(),
    requestBytes: 0,
    responseBytes: 0,
    readingBytes: 0,
    aheadBytes: 0,
    recentBytes: 0,
    recent: createQueue(),
    starved: [],
    touched: [],
    pumping: [],
    ripe: [],
    finished: [],
    wantedAheads: [],
    events: [],
    saidIdle: new Set(),
    complaints: { sinceMs: 0, count: 0, suppressed: 0 },
    exit: null,
    stepsCount: 0,
    checkAt: STEPS_PER_CHECK,
    checkOwner: 0,
  };
}

/** Takes one input to its end and pushes what is to be done into `out`. */
export function stepNode(node: Node, env: Env, input: Input, out: Outbox): void {
  if (node.stage === 'exited') return;
  take(node, env, input, out);
  finishStep(node, env, out);
  if (node.exit !== null) {
    node.stage = 'exited';
    out.push({ kind: 'exit', code: node.exit.code, reason: node.exit.reason });
    return;
  }
  node.stepsCount += 1;
  if (node.stepsCount < node.checkAt) return;
  if (node.machines.size > WHOLE_MACHINES_MAX) {
    node.checkAt = node.stepsCount + STEPS_PER_CHECK;
    checkSlice(node);
    return;
  }
  node.checkAt = node.stepsCount + STEPS_PER_CHECK + STEPS_PER_MACHINE * node.machines.size;
  checkNode(node);
}

/** When the node next wants a 'wake', on the clock of `env.nowMs`; Infinity for never. Asked after every step. */
export function nodeDeadlineMs(node: Node): number {
  return node.stage === 'exited' ? Number.POSITIVE_INFINITY : earliestMs(node.deadlines);
}

function take(node: Node, env: Env, input: Input, out: Outbox): void {
  // The connections that this node has made are numbered downwards.
  if ('connection' in input && input.connection < 0) {
    stepPeers(node, env, input, out);
    return;
  }
  switch (input.kind) {
    case 'start':
      bootNode(node, env, input.seed, out);
      break;
    case 'stop':
      stopNode(node, env, out);
      break;
    case 'wake':
      wake(node, env, out);
      break;
    case 'listening':
    case 'listenFailed':
      bootListening(node, input, out);
      break;
    case 'accepted':
      acceptConnection(node, input, out);
      break;
    case 'frame':
      takeFrame(node, env, input.connection, input.bytes, out);
      break;
    case 'sent':
      noteSent(node, input.connection, input.sizeBytes);
      break;
    case 'closed':
      dropConnection(node, input.connection);
      heartbeatCut(node, env, input.connection, out);
      break;
    case 'connected':
    case 'connectFailed':
      break; // Ours, and taken before.
    default:
      route(node, env, input, out);
  }
}

/** To the machine that asked; one that is gone gets no answers. */
function route(node: Node, env: Env, input: DiskInput | Extract<HostInput, { kind: 'entropy' }>, out: Outbox): void {
  const machine = node.machines.get(input.owner);
  if (machine === undefined) return;
  switch (machine.kind) {
    case 'boot':
      stepBoot(node, env, machine, input, out);
      break;
    case 'controller':
      stepController(node, env, machine, input, out);
      break;
    case 'groups':
      if (input.kind === 'entropy') takeDrawn(node, env, input, out);
      break;
    default:
      if (input.kind !== 'entropy') routeDisk(node, env, machine, input, out);
  }
}

function routeDisk(node: Node, env: Env, machine: Machine, input: DiskInput, out: Outbox): void {
  switch (machine.kind) {
    case 'partition':
      stepPartition(node, env, machine, input, out);
      break;
    case 'topics':
      stepTopics(node, env, input, out);
      break;
    case 'removal':
      stepRemoval(node, env, machine, input, out);
      break;
    case 'checkpoints':
      stepCheckpoints(node, env, input, out);
      break;
    case 'stop':
      stepStop(node, env, machine, input, out);
      break;
    case 'lifecycle':
      break; // It asks nothing of the disk.
    case 'boot':
    case 'controller':
    case 'groups':
      assert(false, 'these machines take every answer themselves');
      break;
    default:
      unreachable(machine);
  }
}

function wake(node: Node, env: Env, out: Outbox): void {
  for (let due = takeDue(node.deadlines, env.nowMs); due !== null; due = takeDue(node.deadlines, env.nowMs)) {
    wakeMachine(node, env, due, out);
  }
}

function wakeMachine(node: Node, env: Env, machine: Waking, out: Outbox): void {
  switch (machine.kind) {
    case 'partition':
      wakePartition(node, env, machine, out);
      break;
    case 'fetch':
      wakeFetch(node, env, machine, out);
      break;
    case 'checkpoints':
      wakeCheckpoints(node, env, out);
      break;
    case 'stop':
      wakeStop(node, env, machine, out);
      break;
    case 'topics':
      wakeTopics(node, env, out);
      break;
    case 'controller':
      wakeController(node, env, machine, out);
      break;
    case 'lifecycle':
      wakeLifecycle(node, env, out);
      break;
    case 'removal':
      wakeRemoval(node, env, machine, out);
      break;
    case 'controllerCalls':
      wakeControllerCalls(node, env, out);
      break;
    case 'peers':
      wakePeers(node, env, out);
      break;
    case 'followers':
      wakeFollowers(node, env);
      break;
    case 'inSync':
      machine.isTouched = true;
      break;
    case 'groupHost':
      wakeHost(node, env, machine, out);
      break;
    case 'groups':
      answerFinding(node);
      break;
    case 'boot':
      break; // It has no deadline.
    default:
      unreachable(machine);
  }
}

/** Everything that the input has set off, until nothing is left. */
function finishStep(node: Node, env: Env, out: Outbox): void {
  for (let passes = 0; ; passes++) {
    assert(passes < PASSES_MAX, 'a step does not come to its end');
    const partition = node.touched.pop();
    if (partition !== undefined) {
      settlePartition(node, env, partition, out);
      continue;
    }
    if (settlePeers(node, env, out)) continue;
    const wait = node.finished.pop();
    if (wait !== undefined) {
      finishProduce(node, env, wait, out);
      continue;
    }
    const fetch = node.ripe.pop();
    if (fetch !== undefined) {
      harvest(node, env, fetch, out);
      continue;
    }
    const connection = node.pumping.pop();
    if (connection !== undefined) {
      pumpConnection(node, env, connection, out);
      continue;
    }
    const wanted = node.wantedAheads.pop();
    if (wanted !== undefined) {
      beginAhead(node, env, wanted, out);
      continue;
    }
    if (pumpFollowers(node, env, out) || pumpInSync(node, env, out)) continue;
    if (node.boot?.isDue === true && node.exit === null) {
      proceedBoot(node, env, node.boot, out);
      continue;
    }
    if (node.stop === null || node.exit !== null || !proceedStop(node, env, node.stop, out)) return;
  }
}
