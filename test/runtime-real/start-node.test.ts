/** A node that is stopped before it serves. */
import { expect, test } from 'vitest';
import { parseSettings } from '../../core/config/parse.ts';
import { startHost } from '../../runtime-real/start-node.ts';

test('a node can be stopped from its first moment on, and that is a clean end', async () => {
  const { config } = parseSettings(
    new Map([
      ['listeners', 'PLAINTEXT://127.0.0.1:0'],
      ['log.dirs', '/memory'],
    ]),
  );
  const started = await startHost(config, {
    say: () => {},
    disk: 'memory',
    keepsProcessAlive: true,
    running: (host) => host.stop(),
  });
  expect(started).toEqual({ kind: 'failed', exit: { code: 0, reason: 'stopped before it was ready' } });
});
