/**
 * How bytes and connections move: effects of actors, and what arrives from the wire.
 *
 * `submitNetwork` takes an effect, `finishNetwork` an event whose time has come. Both push deliveries (inputs for
 * actors) and events that are due later; neither calls an actor.
 */

import { joinParts } from '../../core/lib/bytes.ts';
import type { CloseReason, NetworkEffect } from '../../core/lib/world.ts';
import { bytesHeld, push } from '../../core/protocol/frame.ts';
import { below, between, chance, type Dice, SITE } from '../dice.ts';
import { connect, dial, dialled, failDial, listen } from './dial.ts';
import { flipParts } from './flip.ts';
import {
  answersTo,
  type Delivery,
  deliverTo,
  dropEnd,
  type End,
  hostOf,
  isCut,
  isKeyCut,
  type KeptRequest,
  type Network,
  type NetworkDue,
  type NetworkEvent,
  putOnWire,
  WINDOW_BYTES,
} from './network.ts';

/** Takes one effect of an actor. */
export function submitNetwork(
  network: Network,
  dice: Dice,
  nowUs: number,
  actor: number,
  effect: NetworkEffect,
  due: NetworkDue[],
): void {
  switch (effect.kind) {
    case 'listen':
      listen(network, nowUs, actor, effect, due);
      return;
    case 'unlisten':
      for (const [port, listening] of hostOf(network, actor).listening) {
        if (listening.listener === effect.listener) hostOf(network, actor).listening.delete(port);
      }
      return;
    case 'connect':
      connect(network, dice, nowUs, actor, effect, due);
      return;
    default:
  }
  const end = hostOf(network, actor).connections.get(effect.connection);
  if (end === undefined || end.state === 'gone' || end.state === 'dying') return;
  switch (effect.kind) {
    case 'send':
      if (end.state !== 'open' && end.state !== 'connecting') return;
      if (network.keyCuts.length > 0) markCut(network, end, effect.parts);
      if (network.kept !== null) keepRequest(network, network.kept, end, effect.parts);
      for (const part of effect.parts) {
        if (part.length === 0) continue;
        end.queue.push(part);
        end.queueBytes += part.length;
      }
      // A machine that is there again knows nothing of the connection, and says so.
      if (end.forgottenBy >= 0 && hostOf(network, end.forgottenBy).isPowered) {
        putOnWire(network, dice, nowUs, end, { kind: 'reset' }, due);
      }
      flush(network, dice, nowUs, end, due);
      return;
    case 'pause':
      end.isPaused = true;
      return;
    case 'resume':
      if (!end.isPaused) return;
      end.isPaused = false;
      // Each item that arrived meanwhile had its turn already: it gets another.
      for (let i = 0; i < end.held; i++) due.push({ atUs: nowUs, event: { what: 'arrive', end: end.end } });
      end.held = 0;
      return;
    case 'close':
      close(network, dice, nowUs, end, effect.abort, due);
  }
}

/** The key of a request that was just sent; -1 for none. Who dialled asks, one request with each send. */
function keyOf(end: End, [first]: readonly Uint8Array[]): number {
  if (end.connection > 0 || first === undefined || first.length < API_KEY_END) return -1;
  return ((first[API_KEY_END - 2] as number) << 8) | (first[API_KEY_END - 1] as number);
}

/** Notes that a request which was just sent is cut off by its key, or whatever comes back from now on. */
function markCut(network: Network, end: End, parts: readonly Uint8Array[]): void {
  const peer = network.ends.get(end.peer);
  const apiKey = keyOf(end, parts);
  if (peer === undefined || apiKey < 0) return;
  if (isKeyCut(network, end.actor, peer.actor, apiKey)) end.cutKey = apiKey;
  const answers = answersTo(apiKey);
  if (isKeyCut(network, peer.actor, end.actor, answers)) peer.cutKey = answers;
}

/** Keeps a request of one node to another, of those that may come late: of each key the newest ones. */
function keepRequest(network: Network, kept: KeptRequest[], end: End, parts: readonly Uint8Array[]): void {
  const peer = network.ends.get(end.peer);
  const apiKey = keyOf(end, parts);
  if (peer === undefined || end.port < 0 || !network.keptKeys.includes(apiKey)) return;
  // What is repeated is not kept once more: it comes from a client, and nodes are the machines that listen.
  if (hostOf(network, end.actor).listening.size === 0) return;
  const isOfKey = (one: KeptRequest): boolean => one.apiKey === apiKey;
  const count = kept.filter(isOfKey).length;
  if (count >= KEPT_PER_KEY_MAX) kept.splice(kept.findIndex(isOfKey), 1);
  kept.push({ host: hostOf(network, peer.actor).name, port: end.port, apiKey, bytes: joinParts(parts) });
}

/** Requests of one key that are kept to be repeated: heartbeats, of which there are most, displace nothing else. */
const KEPT_PER_KEY_MAX = 12;

/** A request begins with its length and its key. Bytes. */
const API_KEY_END = 6;

/** Moves what waits in an end's queue onto the wire, as far as the window of the other end allows. */
export function flush(network: Network, dice: Dice, nowUs: number, end: End, due: NetworkDue[]): void {
  const peer = network.ends.get(end.peer);
  if (peer === undefined || end.state === 'connecting') return;
  while (end.queue.length > 0) {
    const room = WINDOW_BYTES - peer.wireBytes;
    // As in TCP: a little room is left alone, or pieces would shrink for ever.
    if (room < Math.min(end.queueBytes, WINDOW_BYTES / 2)) break;
    let parts = end.queue;
    let sizeBytes = end.queueBytes;
    end.queue = [];
    end.queueBytes = 0;
    if (sizeBytes > room) {
      const [now, later] = splitParts(parts, room);
      parts = now;
      end.queue = later;
      end.queueBytes = sizeBytes - room;
      sizeBytes = room;
    }
    if (network.flips.length > 0) parts = flipParts(network, dice, end, parts);
    end.sentBytes += sizeBytes;
    network.figures.bytesSent += sizeBytes;
    if (end.cutKey >= 0) {
      putOnWire(network, dice, nowUs, peer, { kind: 'bytes', parts, sizeBytes, apiKey: end.cutKey }, due);
      end.cutKey = -1;
    } else putPieces(network, dice, nowUs, peer, parts, sizeBytes, due);
  }
  end.movedUs = nowUs;
  if (end.sentBytes > 0 && !end.isSentDue) {
    end.isSentDue = true;
    due.push({ atUs: nowUs + between(dice, SITE.netLatency, end.end, 5, 60), event: { what: 'sent', end: end.end } });
  }
  if (end.state === 'leaving' && end.queue.length === 0) {
    putOnWire(network, dice, nowUs, peer, { kind: 'end' }, due);
    due.push({ atUs: nowUs + 10, event: { what: 'gone', end: end.end, reason: 'asked' } });
    end.state = 'dying';
  }
}

function putPieces(
  network: Network,
  dice: Dice,
  nowUs: number,
  peer: End,
  parts: readonly Uint8Array[],
  sizeBytes: number,
  due: NetworkDue[],
): void {
  let rest = parts;
  let left = sizeBytes;
  for (let turn = 0; turn < 3 && left > 1; turn++) {
    if (!chance(dice, SITE.netChunk, peer.end, network.mood.chunkPpm)) break;
    const size = 1 + below(dice, SITE.netChunk, peer.end, left - 1);
    const [now, later] = splitParts(rest, size);
    network.figures.chunks += 1;
    putOnWire(network, dice, nowUs, peer, { kind: 'bytes', parts: now, sizeBytes: size }, due);
    rest = later;
    left -= size;
  }
  putOnWire(network, dice, nowUs, peer, { kind: 'bytes', parts: rest, sizeBytes: left }, due);
}

/** The first `size` bytes of the parts, and the rest. */
export function splitParts(parts: readonly Uint8Array[], size: number): [Uint8Array[], Uint8Array[]] {
  const before: Uint8Array[] = [];
  const after: Uint8Array[] = [];
  let left = size;
  for (const part of parts) {
    if (left >= part.length) before.push(part);
    else if (left <= 0) after.push(part);
    else {
      before.push(part.subarray(0, left));
      after.push(part.subarray(left));
    }
    left -= part.length;
  }
  return [before, after];
}

function close(network: Network, dice: Dice, nowUs: number, end: End, abort: boolean, due: NetworkDue[]): void {
  const peer = network.ends.get(end.peer);
  if (peer === undefined || end.state === 'connecting' || abort) {
    // Unread bytes at the other end are lost with a reset, as a kernel does it, but what was sent may arrive first.
    if (peer !== undefined) putOnWire(network, dice, nowUs, peer, { kind: 'reset' }, due);
    end.state = 'dying';
    end.queue = [];
    end.queueBytes = 0;
    due.push({ atUs: nowUs + 10, event: { what: 'gone', end: end.end, reason: 'asked' } });
    return;
  }
  if (end.state !== 'open') return;
  end.state = 'leaving';
  flush(network, dice, nowUs, end, due);
}

/** Handles an event whose time has come. */
export function finishNetwork(
  network: Network,
  dice: Dice,
  nowUs: number,
  event: NetworkEvent,
  deliveries: Delivery[],
  due: NetworkDue[],
): void {
  if (event.what === 'tell') {
    deliveries.push({ actor: event.actor, life: event.life, input: event.input });
    return;
  }
  const end = network.ends.get(event.end);
  if (end === undefined) return;
  switch (event.what) {
    case 'dial':
      dial(network, dice, nowUs, end, event, due);
      return;
    case 'dialled':
      dialled(network, nowUs, end, event, deliveries);
      if (end.state === 'open') flush(network, dice, nowUs, end, due);
      return;
    case 'dialTimeOut':
      if (end.state === 'connecting') failDial(network, end, 'timedOut', deliveries);
      return;
    case 'arrive':
      arrive(network, dice, nowUs, end, event, deliveries, due);
      return;
    case 'sent':
      end.isSentDue = false;
      if (end.state === 'gone') return;
      deliverTo(end, { kind: 'sent', connection: end.connection, sizeBytes: end.sentBytes }, deliveries);
      end.sentBytes = 0;
      return;
    case 'gone':
      endWith(network, end, event.reason, deliveries);
      return;
    case 'idle':
      checkIdle(network, dice, nowUs, end, due);
  }
}

function endWith(network: Network, end: End, reason: CloseReason, deliveries: Delivery[]): void {
  const wasConnecting = end.state === 'connecting';
  dropEnd(network, end);
  if (wasConnecting) {
    deliverTo(end, { kind: 'connectFailed', connection: end.connection, reason: 'refused' }, deliveries);
    return;
  }
  deliverTo(end, { kind: 'closed', connection: end.connection, reason, detail: `simulated ${reason}` }, deliveries);
}

/** One item from the wire; arrivals are turns, so that items keep their order whatever was held up. */
function arrive(
  network: Network,
  dice: Dice,
  nowUs: number,
  end: End,
  event: NetworkEvent,
  deliveries: Delivery[],
  due: NetworkDue[],
): void {
  const peer = network.ends.get(end.peer);
  if (network.cut.size > 0 && isCut(network, end.peerActor, end.actor)) {
    network.stalled.push(event);
    return;
  }
  const host = hostOf(network, end.actor);
  if (!host.isPowered) return;
  if (host.frozen !== null) {
    host.frozen.push(event);
    return;
  }
  if (end.state === 'connecting') {
    // The answer to the dial was held up by a cut: what follows it waits too.
    due.push({ atUs: nowUs + 1000, event });
    return;
  }
  const item = end.wire[end.held];
  if (item === undefined) return;
  if (item.kind === 'bytes' && item.apiKey !== undefined) {
    if (isKeyCut(network, end.peerActor, end.actor, item.apiKey)) {
      network.stalled.push(event);
      return;
    }
  }
  if (end.isPaused && item.kind !== 'reset') {
    end.held += 1;
    return;
  }
  end.wire.splice(end.held, 1);
  end.movedUs = nowUs;
  switch (item.kind) {
    case 'reset':
      endWith(network, end, 'reset', deliveries);
      return;
    case 'end':
      endWith(network, end, 'end', deliveries);
      return;
    case 'bytes':
      end.wireBytes -= item.sizeBytes;
      if (end.state === 'open') takeBytes(network, dice, nowUs, end, item.parts, deliveries, due);
      if (peer !== undefined && peer.queue.length > 0) flush(network, dice, nowUs, peer, due);
  }
}

function takeBytes(
  network: Network,
  dice: Dice,
  nowUs: number,
  end: End,
  parts: readonly Uint8Array[],
  deliveries: Delivery[],
  due: NetworkDue[],
): void {
  const frames: Uint8Array[] = [];
  let isSound = true;
  for (const part of parts) isSound = push(end.framer, part, frames) === 'ok' && isSound;
  for (const bytes of frames) deliverTo(end, { kind: 'frame', connection: end.connection, bytes }, deliveries);
  network.figures.framesDelivered += frames.length;
  if (!isSound) breakOff(network, dice, nowUs, end, 'badFrame', due);
  if (bytesHeld(end.framer) > 0) keepToBudget(network, dice, nowUs, end, due);
}

/** This end goes at once, of its own will; the other hears a reset. */
function breakOff(
  network: Network,
  dice: Dice,
  nowUs: number,
  end: End,
  reason: 'badFrame' | 'budget',
  due: NetworkDue[],
): void {
  const peer = network.ends.get(end.peer);
  if (peer !== undefined) putOnWire(network, dice, nowUs, peer, { kind: 'reset' }, due);
  end.state = 'dying';
  due.push({ atUs: nowUs + 5, event: { what: 'gone', end: end.end, reason } });
}

/** While half-received frames hold more than the host allows, the connection that moved longest ago goes. */
function keepToBudget(network: Network, dice: Dice, nowUs: number, end: End, due: NetworkDue[]): void {
  const { connections, frameBudgetBytes } = hostOf(network, end.actor);
  if (frameBudgetBytes === Number.POSITIVE_INFINITY) return;
  for (;;) {
    let heldBytes = 0;
    let slowest: End | null = null;
    for (const other of connections.values()) {
      if (other.state !== 'open' || bytesHeld(other.framer) === 0) continue;
      heldBytes += bytesHeld(other.framer);
      if (slowest === null || other.movedUs < slowest.movedUs) slowest = other;
    }
    if (heldBytes <= frameBudgetBytes || slowest === null) return;
    breakOff(network, dice, nowUs, slowest, 'budget', due);
  }
}

function checkIdle(network: Network, dice: Dice, nowUs: number, end: End, due: NetworkDue[]): void {
  const untilUs = end.movedUs + end.idleMs * 1000;
  if (nowUs < untilUs) {
    due.push({ atUs: untilUs, event: { what: 'idle', end: end.end } });
    return;
  }
  if (end.state !== 'open') return;
  const peer = network.ends.get(end.peer);
  if (peer !== undefined) putOnWire(network, dice, nowUs, peer, { kind: 'end' }, due);
  end.state = 'dying';
  due.push({ atUs: nowUs, event: { what: 'gone', end: end.end, reason: 'idle' } });
}
