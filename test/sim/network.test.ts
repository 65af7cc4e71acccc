/** The simulated network where the contract says nothing: no power, half a connection, a narrow wire. */
import { expect, it } from 'vitest';
import type { NetworkEffect, NetworkInput } from '../../core/lib/world.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { finishNetwork, submitNetwork } from '../../runtime-sim/network/flow.ts';
import {
  addHost,
  createNetwork,
  type Delivery,
  forgetRemovals,
  type NetworkDue,
  REMOVE_VOTER_KEY,
} from '../../runtime-sim/network/network.ts';
import { crashHost, cut, halfClose, heal, narrow, powerUp } from '../../runtime-sim/network/trouble.ts';

const PORT = 9092;
const LIMITS = { frameBytesMax: 100_000, idleMs: 600_000 };
/** A frame of so many bytes behind its length; they begin with an API key, if there is one. */
function frame(sizeBytes: number, apiKey = 0): Uint8Array {
  const bytes = new Uint8Array(4 + sizeBytes);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, sizeBytes);
  if (apiKey > 0) view.setInt16(4, apiKey);
  return bytes;
}

/** Two machines, a client and a server, and time. */
function pair(seed: number) {
  const network = createNetwork();
  const dice = createDice(seed);
  const [client, server] = [addHost(network, 'client'), addHost(network, 'server')];
  const due: NetworkDue[] = [];
  const heard: NetworkInput[] = [];
  let [sentUs, tookUs] = [0, 0];
  let nowUs = 0;
  const act = (actor: number, effect: NetworkEffect): void => submitNetwork(network, dice, nowUs, actor, effect, due);
  /** Lets everything happen that is due within a second. */
  const pass = (): void => {
    const untilUs = nowUs + 1_000_000;
    for (;;) {
      due.sort((a, b) => a.atUs - b.atUs);
      const next = due[0];
      if (next === undefined || next.atUs > untilUs) break;
      due.shift();
      nowUs = next.atUs;
      const deliveries: Delivery[] = [];
      finishNetwork(network, dice, nowUs, next.event, deliveries, due);
      for (const { actor, input } of deliveries) {
        if (actor === client) heard.push(input);
        else if (input.kind === 'frame') tookUs = nowUs - sentUs;
      }
    }
    nowUs = untilUs;
  };
  act(server, { kind: 'listen', listener: 0, host: 'server', port: PORT, ...LIMITS });
  act(client, { kind: 'connect', connection: -1, host: 'server', port: PORT, timeoutMs: 500, frameBytesMax: 1000 });
  pass();
  return {
    network,
    heard,
    pass,
    send: (sizeBytes = 1) => {
      sentUs = nowUs;
      act(client, { kind: 'send', connection: -1, parts: [frame(sizeBytes)] });
    },
    /** The client is a node too, and asks for these. */
    askAsNode: (apiKeys: readonly number[]) => {
      act(client, { kind: 'listen', listener: 0, host: 'client', port: PORT, ...LIMITS });
      for (const apiKey of apiKeys) act(client, { kind: 'send', connection: -1, parts: [frame(8, apiKey)] });
    },
    /** How long the frame that was sent last was on its way, microseconds. */
    took: () => {
      pass();
      return tookUs;
    },
    closeHalf: () => halfClose(network, dice, nowUs, due),
    giveUp: () => act(client, { kind: 'close', connection: -1, abort: true }),
    mend: () => heal(network, dice, nowUs, due),
    losePower: () => crashHost(network, dice, nowUs, server, true, due),
    comeBack: () => powerUp(network, dice, nowUs, server, due),
  };
}

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

it.each(SEEDS)(
  'whoever sends to a machine that has come back hears that it knows of no connection (seed %i)',
  (seed) => {
    const { heard, pass, send, losePower, comeBack } = pair(seed);
    expect(heard.map(({ kind }) => kind)).toContain('connected');
    losePower();
    send();
    pass();
    // Nobody is there to say so.
    expect(heard.map(({ kind }) => kind)).not.toContain('closed');
    comeBack();
    send();
    pass();
    expect(heard.at(-1)).toMatchObject({ kind: 'closed', connection: -1, reason: 'reset' });
  },
);

it.each(SEEDS)(
  'of a connection that is closed by half one end hears it, and the other when it sends (seed %i)',
  (seed) => {
    const { heard, pass, send, closeHalf } = pair(seed);
    closeHalf();
    pass();
    const isHearer = heard.at(-1)?.kind === 'closed';
    if (isHearer) expect(heard.at(-1)).toMatchObject({ connection: -1, reason: 'end' });
    send();
    pass();
    if (isHearer) expect(heard.filter(({ kind }) => kind === 'closed')).toHaveLength(1);
    else expect(heard.at(-1)).toMatchObject({ kind: 'closed', connection: -1, reason: 'reset' });
  },
);

it('where it is narrow, what is sent arrives at so many bytes a ms, and later things behind it', () => {
  const { network, took, send } = pair(1);
  send(20_000);
  const usual = took();
  narrow(network, 0, 1, 100);
  send(20_000);
  expect(took() - usual).toBeGreaterThan(190_000);
  narrow(network, 0, 1, 1_000_000);
  send(20_000);
  expect(took()).toBeLessThan(usual + 5_000);
});

it.each(SEEDS)('what a cut holds back it holds back when its sender gives up, until it is healed (seed %i)', (seed) => {
  const { network, pass, send, took, giveUp, mend } = pair(seed);
  cut(network, 0, 1);
  send();
  pass();
  giveUp();
  expect(took()).toBe(0);
  mend();
  expect(took()).toBeGreaterThan(0);
});

it('of what nodes ask, removals of voters come late until that is to end, and all else beyond', () => {
  const { network, askAsNode } = pair(1);
  const [vote, produce, add] = [52, 0, 80];
  const kept: NonNullable<typeof network.kept> = [];
  network.kept = kept;
  const keys = (): number[] => kept.map(({ apiKey }) => apiKey);
  askAsNode([vote, produce, REMOVE_VOTER_KEY, add, REMOVE_VOTER_KEY]);
  expect(keys()).toEqual([vote, REMOVE_VOTER_KEY, add, REMOVE_VOTER_KEY]);
  forgetRemovals(network);
  expect(keys()).toEqual([vote, add]);
  askAsNode([REMOVE_VOTER_KEY, add]);
  expect(keys()).toEqual([vote, add, add]);
  expect(network.kept).toBe(kept);
});
