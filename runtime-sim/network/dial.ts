/**
 * How connections come to be: listening, dialling, and what becomes of a dial. `flow.ts` calls it.
 */
import type { NetworkEffect, NetworkInput } from '../../core/lib/world.ts';
import type { Dice } from '../dice.ts';
import {
  type Delivery,
  deliverTo,
  dropEnd,
  type End,
  hostOf,
  isCut,
  makeEnd,
  type Network,
  type NetworkDue,
  type NetworkEvent,
  travelUs,
} from './network.ts';

/** Somebody wants to listen. */
export function listen(
  network: Network,
  nowUs: number,
  actor: number,
  effect: Extract<NetworkEffect, { kind: 'listen' }>,
  due: NetworkDue[],
): void {
  const host = hostOf(network, actor);
  const { listener, frameBytesMax, idleMs } = effect;
  let { port } = effect;
  if (port === 0) for (port = 32_768; host.listening.has(port); port++);
  if (host.listening.has(port)) {
    const detail = 'simulated: the port is in use';
    due.push(tell(actor, host.life, { kind: 'listenFailed', listener, reason: 'inUse', detail }, nowUs + 20));
    return;
  }
  host.listening.set(port, { listener, life: host.life, frameBytesMax, idleMs });
  due.push(tell(actor, host.life, { kind: 'listening', listener, host: effect.host, port }, nowUs + 20));
}

/** Somebody dials: the answer takes its time, or never comes. */
export function connect(
  network: Network,
  dice: Dice,
  nowUs: number,
  actor: number,
  effect: Extract<NetworkEffect, { kind: 'connect' }>,
  due: NetworkDue[],
): void {
  const { connection, frameBytesMax, host, port } = effect;
  const end = makeEnd(network, dice, nowUs, {
    actor,
    connection,
    frameBytesMax,
    idleMs: Number.POSITIVE_INFINITY,
    isOpen: false,
  });
  due.push({ atUs: nowUs + travelUs(network, dice, end), event: { what: 'dial', end: end.end, host, port } });
  due.push({ atUs: nowUs + effect.timeoutMs * 1000, event: { what: 'dialTimeOut', end: end.end } });
}

/** A dial reaches the machine that it is for. */
export function dial(
  network: Network,
  dice: Dice,
  nowUs: number,
  end: End,
  event: Extract<NetworkEvent, { what: 'dial' }>,
  due: NetworkDue[],
): void {
  const backUs = nowUs + travelUs(network, dice, end);
  const actor = network.names.get(event.host);
  if (actor === undefined) {
    due.push({ atUs: backUs, event: { what: 'dialled', end: end.end, isRefused: true } });
    return;
  }
  if (isCut(network, end.actor, actor)) {
    network.stalled.push(event);
    return;
  }
  const host = hostOf(network, actor);
  if (!host.isPowered) return;
  const listening = host.listening.get(event.port);
  if (listening === undefined) {
    due.push({ atUs: backUs, event: { what: 'dialled', end: end.end, isRefused: true } });
    return;
  }
  host.accepted += 1;
  network.figures.connections += 1;
  const other = makeEnd(network, dice, nowUs, {
    actor,
    connection: host.accepted,
    frameBytesMax: listening.frameBytesMax,
    idleMs: listening.idleMs,
    isOpen: true,
  });
  end.port = event.port;
  join(end, other);
  join(other, end);
  // Nothing may arrive at the dialling end before it knows that it is connected.
  end.arrivesUs = backUs;
  due.push({ atUs: backUs, event: { what: 'dialled', end: end.end, isRefused: false } });
  if (other.idleMs < Number.POSITIVE_INFINITY) {
    due.push({ atUs: nowUs + other.idleMs * 1000, event: { what: 'idle', end: other.end } });
  }
  due.push(
    tell(
      actor,
      host.life,
      {
        kind: 'accepted',
        connection: other.connection,
        listener: listening.listener,
        peerHost: hostOf(network, end.actor).name,
        peerPort: 40_000 + (end.end % 20_000),
        localHost: event.host,
        localPort: event.port,
      },
      nowUs,
    ),
  );
}

/** The answer to a dial is back. */
export function dialled(
  network: Network,
  nowUs: number,
  end: End,
  event: Extract<NetworkEvent, { what: 'dialled' }>,
  deliveries: Delivery[],
): void {
  if (end.state !== 'connecting') return;
  if (event.isRefused) {
    failDial(network, end, 'refused', deliveries);
    return;
  }
  const peer = network.ends.get(end.peer);
  if (peer !== undefined && isCut(network, peer.actor, end.actor)) {
    network.stalled.push(event);
    return;
  }
  end.state = 'open';
  end.movedUs = nowUs;
  deliverTo(end, { kind: 'connected', connection: end.connection }, deliveries);
}

/** A dial came to nothing. */
export function failDial(
  network: Network,
  end: End,
  reason: 'refused' | 'timedOut' | 'unreachable',
  deliveries: Delivery[],
): void {
  dropEnd(network, end);
  deliverTo(end, { kind: 'connectFailed', connection: end.connection, reason }, deliveries);
}

function tell(actor: number, life: number, input: NetworkInput, atUs: number): NetworkDue {
  return { atUs, event: { what: 'tell', actor, life, input } };
}

/** Tells an end who is at the other one. */
function join(end: End, peer: End): void {
  end.peer = peer.end;
  end.peerActor = peer.actor;
}
