/**
 * Invariants of a whole node, true between any two steps: what its machines check themselves, that the budgets add up,
 * that nothing is left over from a step, that what this node keeps is what the image says. No state of its own but
 * which image was looked at, and how far the slices have come.
 */
import { CONTROLLER } from '../controller/machine.ts';
import { checkQuorum } from '../coordination/quorum.ts';
import { assert } from '../lib/assert.ts';
import { checkHeap } from '../lib/heap.ts';
import { checkLog } from '../log/log.ts';
import { mapValues } from '../metadata/sharded-map.ts';
import { imageFromRecords, snapshotRecords } from '../metadata/snapshot.ts';
import { checkLeader } from '../replication/leader.ts';
import { checkPeers } from './control/peers.ts';
import { checkHosts, checkWaitingBytes } from './groups/check-hosts.ts';
import { checkSession } from './partitions/fetch-sessions.ts';
import type { Node } from './state.ts';

/** Machines of a slice. */
const SLICE_MACHINES = 256;
/** The snapshot of an image of more topics is not replayed for a check: it takes too long. */
const REPLAYED_TOPICS_MAX = 500;

/** Throws AssertionError if an invariant of the node is broken; true between any two steps. Walks over everything. */
export function checkNode(node: Node): void {
  checkFinished(node);
  checkPeers(node.peers);
  checkHeap(node.deadlines);
  let readingBytes = 0;
  let aheadBytes = 0;
  for (const topic of node.topics.byName.values()) {
    for (const partition of topic.partitions) {
      if (partition === null) continue;
      const { log, leader, reads, aheadBytes: counted } = partition;
      aheadBytes += counted;
      checkLog(log);
      checkLeader(leader);
      for (const slot of reads?.values() ?? []) readingBytes += slot.readingBytes;
    }
  }
  assert(readingBytes === node.readingBytes, 'the budget of reads does not add up');
  assert(aheadBytes === node.aheadBytes, 'the budget of reading ahead does not add up');
  checkMetadata(node);
  checkHosts(node);
  checkWaitingBytes(node);
  for (const session of node.sessions.byId.values()) checkSession(session);
  assert(node.recentBytes >= 0, 'the bytes of recent batches are below nothing');
  let unsentBytes = 0;
  for (const connection of node.connections.values()) unsentBytes += connection.unsentBytes;
  assert(unsentBytes === node.responseBytes, 'the budget of responses does not add up');
  assert(node.requestBytes >= 0, 'the budget of requests is below nothing');
}

/** Throws AssertionError if something is left over from a step. */
export function checkFinished(node: Node): void {
  assert(node.touched.length === 0, 'a partition was not settled');
  assert(node.pumping.length === 0, 'a connection was not pumped');
  assert(node.ripe.length === 0, 'a ripe fetch was not answered');
  assert(node.finished.length === 0, 'a finished produce was not answered');
  assert(node.wantedAheads.length === 0, 'a range was not read ahead');
  assert(node.followers.touched.size === 0, 'a fetcher was not asked what it has to send');
  assert(!node.inSync.isTouched, 'a proposal was not sent');
}

/** Checks what follows the machines that were checked last, by owner. Costs the same however many there are. */
export function checkSlice(node: Node): void {
  checkFinished(node);
  checkHosts(node);
  const end = Math.min(node.checkOwner + SLICE_MACHINES, node.ids.owner);
  for (let owner = node.checkOwner + 1; owner <= end; owner++) {
    const machine = node.machines.get(owner);
    if (machine?.kind !== 'partition') continue;
    assert(machine.log.owner === owner, 'a partition is known under another number than its log');
    checkLog(machine.log);
    checkLeader(machine.leader);
  }
  node.checkOwner = end === node.ids.owner ? 0 : end;
}

/** What is committed is what this node keeps, and its snapshot, replayed, is the same again. */
function checkMetadata(node: Node): void {
  const { controller, image, topics } = node;
  if (controller !== null && node.exit === null) checkQuorum(controller.quorum, CONTROLLER);
  if (!topics.isLoaded || image === node.checkedImage) return;
  node.checkedImage = image;
  assert(topics.byId.size === image.topics.byId.size, 'this node keeps other topics than the image has');
  for (const { id, name, partitions } of mapValues(image.topics.byId)) {
    const topic = topics.byId.get(id);
    assert(topic?.name === name, 'a topic of the image is not kept');
    assert(topic.partitions.length === partitions.length, 'a topic has other partitions than the image says');
    for (const [index, { replicas }] of partitions.entries()) {
      const isHere = topic.partitions[index] !== null;
      assert(isHere === replicas.includes(node.nodeId), 'the replicas here are not those that the image says');
    }
  }
  if (image.topics.byId.size > REPLAYED_TOPICS_MAX) return;
  const again = imageFromRecords(snapshotRecords(image), image.provenance);
  assert(typeof again !== 'string', 'the records of a snapshot do not fit each other');
  assert(CONTROLLER.isEqual(again, image), 'the replay of a snapshot is not the image that it was taken of');
}
