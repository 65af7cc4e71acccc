/** Calls to other nodes, told as stories: what the world says, what becomes of each call. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  callPeer,
  checkPeers,
  closePeers,
  createPeers,
  type PeerCall,
  type PeerOutcome,
  type Purpose,
  renewPeers,
  stepPeers,
  wakePeers,
} from '../../core/broker/control/peers.ts';
import type { Node } from '../../core/broker/state.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createHeap, earliestMs } from '../../core/lib/heap.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Effect, Env, NetworkInput } from '../../core/lib/world.ts';
import type { BrokerImage, ClusterImage } from '../../core/metadata/image.ts';
import { encodeResponse, peekRequest } from '../../core/protocol/codec.ts';
import type { ResponseInputOf } from '../../core/protocol/messages/index.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import { join } from './frames.ts';

const TO = { host: 'b', port: 1 };
const HEARTBEAT = 63;
const answered = { throttleTimeMs: 0, errorCode: 0, isCaughtUp: true, isFenced: false, shouldShutDown: false };

let node: Node;
let nowMs: number;
let out: Effect[];

beforeEach(() => {
  // The rest of a node has no part in this.
  node = { peers: createPeers(createIds(), 1, 1_000_000), deadlines: createHeap() } as unknown as Node;
  nowMs = 1000;
  out = [];
});

function env(): Env {
  return { nowMs, wallMs: 0, crc32c, codecs: realCodecs(), reached: () => {} };
}

/** Calls as the member of the quorum with that ticket. */
function call(ticket: number, changes: Partial<PeerCall<typeof HEARTBEAT>> = {}): void {
  const body = { brokerId: 1, currentMetadataOffset: 5, wantFence: false, wantShutDown: false, offlineLogDirs: [] };
  const given = { to: TO, purpose: 'quorum', apiKey: HEARTBEAT, body, timeoutMs: 500 } as const;
  callPeer(node, env(), { ...given, ...changes }, { kind: 'quorum', ticket }, out);
}

function tell(input: NetworkInput): void {
  stepPeers(node, env(), input, out);
}

function wake(ms: number): void {
  nowMs += ms;
  wakePeers(node, env(), out);
}

/** What was told so far, by ticket; told once. */
function outcomes(): [number, PeerOutcome | string][] {
  const told = node.peers.outcomes.splice(0).map(({ caller, outcome }): [number, PeerOutcome | string] => {
    return ['ticket' in caller ? caller.ticket : -1, 'failure' in outcome ? outcome.failure : outcome];
  });
  checkPeers(node.peers);
  return told;
}

function connects(): Extract<Effect, { kind: 'connect' }>[] {
  return out.filter((effect) => effect.kind === 'connect');
}

function sent(): Uint8Array[] {
  return out.flatMap((effect) => (effect.kind === 'send' ? [join(effect.parts).subarray(4)] : []));
}

function frame<K extends 18 | typeof HEARTBEAT>(connection: number, apiKey: K, at: number, body: unknown): void {
  const head = peekRequest(sent()[at] as Uint8Array);
  const whole = encodeResponse(apiKey, head?.apiVersion ?? 0, head?.correlationId ?? 0, body as ResponseInputOf<K>);
  tell({ kind: 'frame', connection, bytes: join(whole).subarray(4) });
}

/** The connection that is being made is made, and speaks these versions of the heartbeat. */
function comeUp(connection: number, minVersion = 0, maxVersion = 2): void {
  tell({ kind: 'connected', connection });
  const apiKeys = [18, HEARTBEAT].map((apiKey) => ({ apiKey, minVersion, maxVersion }));
  frame(connection, 18, sent().length - 1, { errorCode: 0, throttleTimeMs: 0, apiKeys });
}

describe('a call to another node', () => {
  test('waits for its connection, and calls of one purpose are sent and answered in order', () => {
    call(1);
    call(2);
    expect(connects()).toHaveLength(1);
    const connection = connects()[0]?.connection ?? 0;
    expect(sent()).toEqual([]);
    comeUp(connection);
    expect(sent()).toHaveLength(3);
    frame(connection, HEARTBEAT, 1, answered);
    expect(outcomes()).toMatchObject([[1, { response: { isFenced: false } }]]);
    frame(connection, HEARTBEAT, 2, answered);
    expect(outcomes()).toMatchObject([[2, { response: { isFenced: false } }]]);
  });

  test('of another purpose has a connection of its own, so that it waits behind none of these', () => {
    const purposes: Purpose[] = ['quorum', 'quorumFetch', 'probe'];
    for (const purpose of purposes) call(1, { purpose });
    expect(new Set(connects().map(({ connection }) => connection)).size).toBe(purposes.length);
  });

  test('fails as refused where nothing listens, with all that waited, and the next attempt waits a little', () => {
    call(1);
    call(2);
    tell({ kind: 'connectFailed', connection: connects()[0]?.connection ?? 0, reason: 'refused' });
    expect(outcomes()).toEqual([
      [1, 'refused'],
      [2, 'refused'],
    ]);
    call(3);
    expect(connects()).toHaveLength(1);
    wake(20);
    expect(connects()).toHaveLength(2);
  });

  test('fails when its time is over before there is a connection', () => {
    call(1);
    call(2, { timeoutMs: 900 });
    expect(earliestMs(node.deadlines)).toBe(1500);
    wake(500);
    expect(outcomes()).toEqual([[1, 'timedOut']]);
    wake(400);
    expect(outcomes()).toEqual([[2, 'timedOut']]);
  });

  test('that is not answered in time costs the connection, and what was behind it', () => {
    call(1);
    call(2, { timeoutMs: 5000 });
    comeUp(connects()[0]?.connection ?? 0);
    wake(500);
    expect(outcomes()).toEqual([
      [1, 'timedOut'],
      [2, 'closed'],
    ]);
    expect(out.at(-1)).toMatchObject({ kind: 'close', abort: true });
  });

  test('fails where nobody knows the address, or the peer does not speak the version', () => {
    call(1, { to: null });
    expect(outcomes()).toEqual([[1, 'closed']]);
    call(2, { versionMin: 2 });
    comeUp(connects()[0]?.connection ?? 0, 0, 1);
    expect(outcomes()).toEqual([[2, 'closed']]);
  });

  test('has an outcome too when the node closes its connections', () => {
    call(1);
    comeUp(connects()[0]?.connection ?? 0);
    call(2, { purpose: 'probe' });
    closePeers(node, out);
    expect(outcomes().sort()).toEqual([
      [1, 'closed'],
      [2, 'closed'],
    ]);
    expect(earliestMs(node.deadlines)).toBe(Number.POSITIVE_INFINITY);
  });

  test('goes over a new connection once its node has begun another life, unless something is being asked', () => {
    const config = { 'controller.listener.names': ['C'], 'controller.quorum.bootstrap.servers': [] };
    const life = (incarnationId: string): ClusterImage => {
      const broker = { id: 2, incarnationId, endPoints: [{ name: 'P', ...TO, securityProtocol: 0 }] };
      return { brokers: new Map([[2, broker as unknown as BrokerImage]]), controllers: new Map() };
    };
    Object.assign(node, { config, controller: null, image: { cluster: life('new') } });
    call(1);
    const connection = connects()[0]?.connection ?? 0;
    comeUp(connection);
    renewPeers(node, life('old'), life('new'), out);
    frame(connection, HEARTBEAT, 1, answered);
    expect(outcomes()).toMatchObject([[1, { response: {} }]]);
    renewPeers(node, life('new'), life('new'), out);
    expect(out.filter(({ kind }) => kind === 'close')).toEqual([]);
    renewPeers(node, life('old'), life('new'), out);
    expect(out.filter(({ kind }) => kind === 'close')).toEqual([{ kind: 'close', connection, abort: false }]);
    call(2);
    expect(connects()).toHaveLength(2);
  });
});
