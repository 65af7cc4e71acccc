import net from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { NetworkInput } from '../../core/lib/world.ts';
import { createNet, type Net } from '../../runtime-real/net/net.ts';

const LIMITS = { frameBudgetBytes: 1 << 20, connectionsMax: 10, keepsProcessAlive: false, trouble: () => {} };
const FRAMES = 20_000;
const FRAME = Buffer.from([0, 0, 0, 2, 7, 7]);
const PAUSE_AT = 100;
/** What may still come after a pause: what one turn cuts off a chunk. */
const UNDER_WAY_MAX = 128;

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

let open: Net | null = null;
afterEach(async () => open?.shut(true));

it('a pause holds back tiny frames that have already come, and a resume gives each of them once', async () => {
  let frames = 0;
  let atPause = -1;
  const done = deferred();
  const paused = deferred();
  const deliver = (input: NetworkInput): void => {
    if (input.kind === 'listening') net.connect(input.port, input.host).end(Buffer.alloc(FRAMES * 6, FRAME));
    if (input.kind === 'closed') done.resolve();
    if (input.kind !== 'frame') return;
    frames += 1;
    if (frames === PAUSE_AT) {
      real.execute({ kind: 'pause', connection: input.connection });
      setTimeout(() => {
        atPause = frames;
        real.execute({ kind: 'resume', connection: input.connection });
        paused.resolve();
      }, 100);
    }
  };
  const real = createNet(deliver, LIMITS);
  open = real;
  real.execute({ kind: 'listen', listener: 1, host: '127.0.0.1', port: 0, frameBytesMax: 100, idleMs: 60_000 });
  await paused.promise;
  await done.promise;
  expect(atPause).toBeLessThanOrEqual(PAUSE_AT + UNDER_WAY_MAX);
  expect(frames).toBe(FRAMES);
});
