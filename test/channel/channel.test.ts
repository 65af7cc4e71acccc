/** The channel, told as stories: what the world says, what the channel does. */
import { describe, expect, it } from 'vitest';
import { backoffMs, throwDice } from '../../core/channel/backoff.ts';
import {
  answerBody,
  type Channel,
  type ChannelEvent,
  callPeer,
  canCall,
  channelDeadlineMs,
  checkChannel,
  closePeer,
  createChannel,
  openPeer,
  stepChannel,
  UNSENT_BYTES_MAX,
  versionFor,
} from '../../core/channel/channel.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Effect, Env, NetworkInput, Outbox } from '../../core/lib/world.ts';
import { encodeResponse, peekRequest } from '../../core/protocol/codec.ts';
import type { ResponseInputOf } from '../../core/protocol/messages/index.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';

const ADDRESS = { host: 'b', port: 1 };
const PEER = 'b:1';

interface Story {
  readonly channel: Channel;
  nowMs: number;
  readonly effects: Effect[];
  readonly events: ChannelEvent[];
}

function begin(options: { inFlightMax?: number; seed?: number } = {}): Story {
  const channel = createChannel({
    clientId: 'me',
    ids: createIds(),
    requestTimeoutMs: 1000,
    connectTimeoutMs: 500,
    reconnectBackoffMs: 50,
    reconnectBackoffMaxMs: 1000,
    inFlightMax: options.inFlightMax ?? 2,
    frameBytesMax: 1_000_000,
    seed: options.seed ?? 1,
  });
  return { channel, nowMs: 1000, effects: [], events: [] };
}

function env(story: Story): Env {
  return { nowMs: story.nowMs, wallMs: 0, crc32c, codecs: realCodecs(), reached: () => {} };
}

/** Takes one input and returns what it made the channel do and say. */
function tell(story: Story, input: NetworkInput | { kind: 'wake' }): { out: Effect[]; said: ChannelEvent[] } {
  const out: Outbox = [];
  const said: ChannelEvent[] = [];
  stepChannel(story.channel, env(story), input, out, said);
  checkChannel(story.channel);
  return { out, said };
}

function open(story: Story): Effect[] {
  const out: Outbox = [];
  openPeer(story.channel, env(story), ADDRESS, out);
  return out;
}

function connectionOf(story: Story): number {
  return story.channel.peers.get(PEER)?.connection ?? 0;
}

/** The head of the request in a send effect. */
function sentHead(effect: Effect | undefined): { apiKey: number; apiVersion: number; correlationId: number } {
  if (effect?.kind !== 'send' || effect.parts[0] === undefined) throw new Error('nothing was sent');
  const head = peekRequest(effect.parts[0].subarray(4));
  if (head === null) throw new Error('no head');
  return head;
}

function frame(story: Story, bytes: Uint8Array): { out: Effect[]; said: ChannelEvent[] } {
  return tell(story, { kind: 'frame', connection: connectionOf(story), bytes });
}

function versions(version: number, correlationId: number, body: Partial<ResponseInputOf<18>>): Uint8Array {
  const whole = encodeResponse(18, version, correlationId, { errorCode: 0, apiKeys: [], throttleTimeMs: 0, ...body });
  return Uint8Array.from(whole.flatMap((part) => [...part])).subarray(4);
}

const KEYS = [
  { apiKey: 3, minVersion: 0, maxVersion: 9 },
  { apiKey: 22, minVersion: 0, maxVersion: 6 },
  { apiKey: 0, minVersion: 20, maxVersion: 22 },
];

/** Brings the peer up. */
function up(story: Story): void {
  open(story);
  const { out } = tell(story, { kind: 'connected', connection: connectionOf(story) });
  frame(story, versions(5, sentHead(out[0]).correlationId, { apiKeys: KEYS }));
  expect(canCall(story.channel, PEER)).toBe(true);
}

function callMetadata(story: Story): { ticket: number; correlationId: number } {
  const out: Outbox = [];
  const body = { topics: [], includeClusterAuthorizedOperations: false, includeTopicAuthorizedOperations: false };
  const ticket = callPeer(story.channel, env(story), PEER, { apiKey: 3, version: 9, body }, out);
  return { ticket, correlationId: sentHead(out[0]).correlationId };
}

function metadataAnswer(correlationId: number): Uint8Array {
  const body = { throttleTimeMs: 0, brokers: [], clusterId: 'c', controllerId: 7, topics: [], errorCode: 0 };
  return Uint8Array.from(encodeResponse(3, 9, correlationId, body).flatMap((part) => [...part])).subarray(4);
}

describe('negotiation', () => {
  it('asks in the highest version first and is then up, knowing what both speak', () => {
    const story = begin();
    expect(open(story)).toMatchObject([{ kind: 'connect', host: 'b', port: 1, timeoutMs: 500 }]);
    const { out } = tell(story, { kind: 'connected', connection: connectionOf(story) });
    expect(sentHead(out[0])).toMatchObject({ apiKey: 18, apiVersion: 5 });
    const { said } = frame(story, versions(5, sentHead(out[0]).correlationId, { apiKeys: KEYS }));
    expect(said).toEqual([{ kind: 'up', peer: PEER }]);
    expect(versionFor(story.channel, PEER, 3)).toBe(9);
    expect(versionFor(story.channel, PEER, 3, 4)).toBe(4);
  });

  it('uses no unstable version, none that the peer does not name, and none where the ranges miss each other', () => {
    const story = begin();
    up(story);
    expect(versionFor(story.channel, PEER, 22)).toBe(5);
    expect(versionFor(story.channel, PEER, 1)).toBe(-1);
    expect(versionFor(story.channel, PEER, 0)).toBe(-1);
  });

  it.each([
    ['an empty list', [], 0],
    ['its own range', [{ apiKey: 18, minVersion: 0, maxVersion: 2 }], 2],
  ])('asks again, lower, after error 35 with %s', (_, apiKeys, version) => {
    const story = begin();
    open(story);
    const { out } = tell(story, { kind: 'connected', connection: connectionOf(story) });
    const refusal = versions(0, sentHead(out[0]).correlationId, { errorCode: 35, apiKeys });
    const again = frame(story, refusal);
    expect(sentHead(again.out[0])).toMatchObject({ apiKey: 18, apiVersion: version });
    const { said } = frame(story, versions(version, sentHead(again.out[0]).correlationId, { apiKeys: KEYS }));
    expect(said).toEqual([{ kind: 'up', peer: PEER }]);
  });

  it('gives up on a peer that refuses version 0 too, or fails otherwise, or makes no sense', () => {
    for (const answer of [
      (id: number) => versions(5, id, { errorCode: 58 }),
      (id: number) => versions(5, id, { apiKeys: KEYS }).subarray(0, 9),
    ]) {
      const story = begin();
      open(story);
      const { out } = tell(story, { kind: 'connected', connection: connectionOf(story) });
      const end = frame(story, answer(sentHead(out[0]).correlationId));
      expect(end.out).toMatchObject([{ kind: 'close', abort: true }]);
      expect(end.said).toMatchObject([{ kind: 'down' }]);
    }
    const story = begin();
    open(story);
    let { out } = tell(story, { kind: 'connected', connection: connectionOf(story) });
    ({ out } = frame(story, versions(0, sentHead(out[0]).correlationId, { errorCode: 35 })));
    const { said } = frame(story, versions(0, sentHead(out[0]).correlationId, { errorCode: 35 }));
    expect(said).toEqual([{ kind: 'down', peer: PEER, reason: 'unsupported' }]);
  });
});

describe('calls', () => {
  it('are answered strictly in order', () => {
    const story = begin();
    up(story);
    const first = callMetadata(story);
    const second = callMetadata(story);
    expect(canCall(story.channel, PEER)).toBe(false);
    const { said } = frame(story, metadataAnswer(first.correlationId));
    const answer = said[0];
    if (answer?.kind !== 'answered') throw new Error('no answer');
    expect(answer).toMatchObject({ ticket: first.ticket, apiKey: 3, version: 9 });
    expect(answerBody(answer, 3).controllerId).toBe(7);
    expect(frame(story, metadataAnswer(second.correlationId)).said).toMatchObject([{ ticket: second.ticket }]);
  });

  it.each([
    ['another correlation id', (id: number) => metadataAnswer(id + 1)],
    ['a body that ends too early', (id: number) => metadataAnswer(id).subarray(0, 8)],
    ['no correlation id', () => new Uint8Array(2)],
  ])('close the connection and are lost after an answer with %s', (_, answer) => {
    const story = begin();
    up(story);
    const { ticket, correlationId } = callMetadata(story);
    const { out, said } = frame(story, answer(correlationId));
    expect(out).toMatchObject([{ kind: 'close', abort: true }]);
    expect(said).toEqual([
      { kind: 'lost', peer: PEER, ticket, apiKey: 3 },
      { kind: 'down', peer: PEER, reason: 'malformed' },
    ]);
  });

  it('close the connection after an answer to nothing', () => {
    const story = begin();
    up(story);
    expect(frame(story, metadataAnswer(1)).said).toEqual([{ kind: 'down', peer: PEER, reason: 'malformed' }]);
  });

  it('that are not answered in time cost the connection, and all calls on it are lost, oldest first', () => {
    const story = begin();
    up(story);
    const first = callMetadata(story);
    story.nowMs += 10;
    const second = callMetadata(story);
    expect(channelDeadlineMs(story.channel)).toBe(2000);
    story.nowMs = 1999;
    expect(tell(story, { kind: 'wake' }).said).toEqual([]);
    story.nowMs = 2000;
    const { out, said } = tell(story, { kind: 'wake' });
    expect(out).toMatchObject([{ kind: 'close', abort: true }]);
    expect(said).toMatchObject([
      { ticket: first.ticket },
      { ticket: second.ticket },
      { kind: 'down', reason: 'silent' },
    ]);
  });

  it('of a peer that is closed on purpose are lost, and its late inputs are ignored', () => {
    const story = begin();
    up(story);
    const { ticket, correlationId } = callMetadata(story);
    const connection = connectionOf(story);
    const said: ChannelEvent[] = [];
    closePeer(story.channel, PEER, [], said);
    expect(said).toEqual([{ kind: 'lost', peer: PEER, ticket, apiKey: 3 }]);
    const late = tell(story, { kind: 'frame', connection, bytes: metadataAnswer(correlationId) });
    expect(late).toEqual({ out: [], said: [] });
  });

  it('are held back while too many bytes have not left', () => {
    const story = begin({ inFlightMax: 1000 });
    up(story);
    const connection = connectionOf(story);
    const peer = story.channel.peers.get(PEER);
    if (peer === undefined) throw new Error('no peer');
    peer.unsentBytes = UNSENT_BYTES_MAX;
    expect(canCall(story.channel, PEER)).toBe(false);
    tell(story, { kind: 'sent', connection, sizeBytes: 1 });
    expect(canCall(story.channel, PEER)).toBe(true);
  });
});

describe('back-off', () => {
  it('waits longer after each failure, up to a limit, and starts anew once the peer has been up', () => {
    const story = begin();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const out = open(story);
      const waitMs = channelDeadlineMs(story.channel) - story.nowMs;
      if (out.length === 0) {
        waits.push(waitMs);
        story.nowMs += waitMs - 1;
        expect(tell(story, { kind: 'wake' }).out).toEqual([]);
        story.nowMs += 1;
        expect(tell(story, { kind: 'wake' }).out).toMatchObject([{ kind: 'connect' }]);
      }
      const failed = tell(story, { kind: 'connectFailed', connection: connectionOf(story), reason: 'refused' });
      expect(failed.said).toEqual([{ kind: 'down', peer: PEER, reason: 'refused' }]);
    }
    const plain = [50, 100, 200, 400, 800, 1000, 1000];
    expect(waits.length).toBe(7);
    for (const [index, waitMs] of waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(Math.floor((plain[index] ?? 0) * 0.8));
      expect(waitMs).toBeLessThanOrEqual((plain[index] ?? 0) * 1.2);
    }
    story.nowMs += 2000;
    up(story);
    tell(story, { kind: 'closed', connection: connectionOf(story), reason: 'reset', detail: '' });
    open(story);
    expect(channelDeadlineMs(story.channel) - story.nowMs).toBeLessThanOrEqual(60);
  });

  it('is the same for the same seed and differs for another', () => {
    const series = (seed: number): number[] => {
      const dice = { dice: seed };
      return Array.from({ length: 20 }, (_, i) => backoffMs(dice, i + 1, 50, 100_000));
    };
    expect(series(7)).toEqual(series(7));
    expect(series(7)).not.toEqual(series(8));
  });

  it('throws dice that reach every side', () => {
    const dice = { dice: 3 };
    const sides = new Set(Array.from({ length: 1000 }, () => throwDice(dice, 6)));
    expect([...sides].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('the state', () => {
  it('is plain data: a copy goes on exactly as the original does', () => {
    const story = begin();
    up(story);
    callMetadata(story);
    const copy: Story = { ...story, channel: structuredClone(story.channel) };
    const input = { kind: 'closed', connection: connectionOf(story), reason: 'end', detail: '' } as const;
    expect(tell(copy, input)).toEqual(tell(story, input));
    expect(copy.channel).toEqual(story.channel);
  });
});
