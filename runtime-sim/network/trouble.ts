/**
 * What breaks a simulated network: cuts, resets, and the death of a process or of a machine.
 */
import { below, between, chance, type Dice, SITE } from '../dice.ts';
import { splitParts } from './flow.ts';
import {
  answersTo,
  directionKey,
  dropEnd,
  type End,
  hostOf,
  type Network,
  type NetworkDue,
  putOnWire,
} from './network.ts';

/** Lets nothing through from one actor to another until `heal`. */
export function cut(network: Network, from: number, to: number): void {
  network.cut.add(directionKey(from, to));
}

/** Lets requests of one API through no more, from one actor to another, until `heal`. */
export function cutKey(network: Network, from: number, to: number, apiKey: number): void {
  network.keyCuts.push({ direction: directionKey(from, to), apiKey });
}

/** Lets the answers to requests of one API through no more, from whom was asked to whoever asked, until `heal`. */
export function cutAnswers(network: Network, from: number, to: number, apiKey: number): void {
  network.keyCuts.push({ direction: directionKey(to, from), apiKey: answersTo(apiKey) });
}

/** Makes everything from one actor to another take longer by `meanUs` on average, until `heal`. */
export function clog(network: Network, from: number, to: number, meanUs: number): void {
  network.clogs.set(directionKey(from, to), meanUs);
}

/** Lets so many bytes a ms through from one actor to another, on each connection, until `heal`. */
export function narrow(network: Network, from: number, to: number, bytesPerMs: number): void {
  network.narrows.set(directionKey(from, to), bytesPerMs);
}

/** Ends every cut and clog, and that all is slow; what was held up goes on. */
export function heal(network: Network, dice: Dice, nowUs: number, due: NetworkDue[]): void {
  network.cut.clear();
  network.keyCuts = [];
  network.clogs.clear();
  network.narrows.clear();
  network.mood.congestionUs = 0;
  letGo(network, dice, nowUs, due);
}

/** Ends the cuts and clogs of these directions only. */
export function healSome(
  network: Network,
  dice: Dice,
  nowUs: number,
  directions: ReadonlySet<number>,
  due: NetworkDue[],
): void {
  for (const direction of directions) {
    network.cut.delete(direction);
    network.clogs.delete(direction);
    network.narrows.delete(direction);
  }
  network.keyCuts = network.keyCuts.filter(({ direction }) => !directions.has(direction));
  letGo(network, dice, nowUs, due);
}

/** What was held up arrives anew, to be held up again where another cut is left. */
function letGo(network: Network, dice: Dice, nowUs: number, due: NetworkDue[]): void {
  const { stalled } = network;
  network.stalled = [];
  for (const event of stalled) {
    const end = 'end' in event ? event.end : 0;
    due.push({ atUs: nowUs + between(dice, SITE.netLoss, end, 50, 20_000), event });
  }
}

/** The process of an actor is stopped: bytes stay in its kernel. */
export function freezeHost(network: Network, actor: number): void {
  hostOf(network, actor).frozen ??= [];
}

/** It goes on: what arrived meanwhile is read, in its order. */
export function thawHost(network: Network, nowUs: number, actor: number, due: NetworkDue[]): void {
  const host = hostOf(network, actor);
  for (const event of host.frozen ?? []) due.push({ atUs: nowUs, event });
  host.frozen = null;
}

function anyOpen(network: Network, dice: Dice): End | undefined {
  const open: End[] = [];
  for (const end of network.ends.values()) if (end.state === 'open' && end.connection < 0) open.push(end);
  return open[below(dice, SITE.netLoss, 0, open.length)];
}

/** Closes one half of a connection: one end hears it, behind all that was sent to it, and the other does not. */
export function halfClose(network: Network, dice: Dice, nowUs: number, due: NetworkDue[]): boolean {
  const dialled = anyOpen(network, dice);
  const accepted = dialled === undefined ? undefined : network.ends.get(dialled.peer);
  if (dialled === undefined || accepted === undefined) return false;
  const [hearer, other] = chance(dice, SITE.netLoss, 1, 500_000) ? [dialled, accepted] : [accepted, dialled];
  putOnWire(network, dice, nowUs, hearer, { kind: 'end' }, due);
  other.forgottenBy = hearer.actor;
  return true;
}

/** Breaks off a connection, chosen by the dice among those that are open; false if there is none. */
export function resetOne(network: Network, dice: Dice, nowUs: number, due: NetworkDue[]): boolean {
  const end = anyOpen(network, dice);
  if (end === undefined) return false;
  network.figures.resets += 1;
  const peer = network.ends.get(end.peer);
  breakOff(network, dice, nowUs, end, due);
  if (peer !== undefined) breakOff(network, dice, nowUs, peer, due);
  return true;
}

/** This end sends no more and hears, after a prefix of what is under way to it, of the reset. */
function breakOff(network: Network, dice: Dice, nowUs: number, end: End, due: NetworkDue[]): void {
  end.queue = [];
  end.queueBytes = 0;
  loseWire(dice, end);
  putOnWire(network, dice, nowUs, end, { kind: 'reset' }, due);
}

/** Keeps a prefix of what is on the wire towards an end, cut anywhere. Turns that are left over find nothing. */
function loseWire(dice: Dice, end: End): void {
  if (chance(dice, SITE.netLoss, end.end, 300_000)) return;
  const keep = end.held + below(dice, SITE.netLoss, end.end, end.wire.length - end.held + 1);
  const torn = end.wire[keep];
  end.wire.length = keep;
  if (torn?.kind === 'bytes' && chance(dice, SITE.netLoss, end.end, 500_000)) {
    const sizeBytes = below(dice, SITE.netLoss, end.end, torn.sizeBytes);
    const [parts] = splitParts(torn.parts, sizeBytes);
    if (sizeBytes > 0) end.wire.push({ kind: 'bytes', parts, sizeBytes });
  }
  end.wireBytes = 0;
  for (const item of end.wire) if (item.kind === 'bytes') end.wireBytes += item.sizeBytes;
}

/**
 * The process of an actor is gone, and its numbers with it. Its peers hear of it after what it had sent, or a prefix of
 * that; if the machine lost power, they hear nothing.
 */
export function crashHost(
  network: Network,
  dice: Dice,
  nowUs: number,
  actor: number,
  powerLost: boolean,
  due: NetworkDue[],
): void {
  const host = hostOf(network, actor);
  for (const end of [...host.connections.values()]) {
    const peer = network.ends.get(end.peer);
    dropEnd(network, end);
    if (peer === undefined) continue;
    loseWire(dice, peer);
    if (powerLost) peer.forgottenBy = actor;
    if (!powerLost) putOnWire(network, dice, nowUs, peer, { kind: 'reset' }, due);
  }
  host.listening.clear();
  host.frozen = null;
  host.life += 1;
  host.accepted = 0;
  if (powerLost) host.isPowered = false;
}

/** The machine is there again: whoever still holds a connection to its former life hears that there is none. */
export function powerUp(network: Network, dice: Dice, nowUs: number, actor: number, due: NetworkDue[]): void {
  const host = hostOf(network, actor);
  if (host.isPowered) return;
  host.isPowered = true;
  for (const end of network.ends.values()) {
    if (end.forgottenBy !== actor || end.state === 'dying') continue;
    // Its bytes are sent again by its kernel until the machine answers by a reset; others hear that when they send.
    if (chance(dice, SITE.netLoss, end.end, 700_000)) putOnWire(network, dice, nowUs, end, { kind: 'reset' }, due);
  }
}
