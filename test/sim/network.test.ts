/** The simulated network where the contract of all networks says nothing: what a machine does that had no power. */
import { expect, it } from 'vitest';
import type { NetworkEffect, NetworkInput } from '../../core/lib/world.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { finishNetwork, submitNetwork } from '../../runtime-sim/network/flow.ts';
import { addHost, createNetwork, type Delivery, type NetworkDue } from '../../runtime-sim/network/network.ts';
import { crashHost, powerUp } from '../../runtime-sim/network/trouble.ts';

const PORT = 9092;
const LIMITS = { frameBytesMax: 1000, idleMs: 600_000 };
/** A frame of one byte. */
const FRAME = Uint8Array.of(0, 0, 0, 1, 7);

/** Two machines, a client and a server, and time. */
function pair(seed: number) {
  const network = createNetwork();
  const dice = createDice(seed);
  const [client, server] = [addHost(network, 'client'), addHost(network, 'server')];
  const due: NetworkDue[] = [];
  const heard: NetworkInput[] = [];
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
      for (const { actor, input } of deliveries) if (actor === client) heard.push(input as NetworkInput);
    }
    nowUs = untilUs;
  };
  act(server, { kind: 'listen', listener: 0, host: 'server', port: PORT, ...LIMITS });
  act(client, { kind: 'connect', connection: -1, host: 'server', port: PORT, timeoutMs: 500, frameBytesMax: 1000 });
  pass();
  return {
    heard,
    pass,
    send: () => act(client, { kind: 'send', connection: -1, parts: [FRAME] }),
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
