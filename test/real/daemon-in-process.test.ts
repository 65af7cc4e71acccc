/** `tidemark/testing` from the built package: a node inside this very process, which leaves nothing behind. */
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeForTests, StartNodeOptions } from '../../tools/testkit/testing.ts';
import { runNode } from './daemon-process.ts';

const TESTING = path.resolve(import.meta.dirname, '../../dist/bundle/library/testing.js');

describe('a node inside a test process', () => {
  let startNode: (options?: StartNodeOptions) => Promise<NodeForTests>;
  let folder: string;

  beforeAll(async () => {
    ({ startNode } = (await import(pathToFileURL(TESTING).href)) as typeof import('../../tools/testkit/testing.ts'));
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-in-process-'));
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  async function isListening(port: number): Promise<boolean> {
    const socket = net.connect(port, '127.0.0.1');
    const answer = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    return answer;
  }

  const openSockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;

  /** Files of a folder that this process holds open; none where there is no /proc. */
  function openFiles(inFolder: string): string[] {
    if (!fs.existsSync('/proc/self/fd')) return [];
    const links = fs.readdirSync('/proc/self/fd').map((fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ''; // The very descriptor that listed them.
      }
    });
    return links.filter((link) => link.startsWith(inFolder));
  }

  test.each(['memory', 'temporary'] as const)('on a %s disk listens, stops, and leaves nothing open', async (disk) => {
    const before = openSockets();
    const node = await startNode({ disk, topics: { orders: 3 } });
    expect(node.bootstrap).toBe(`127.0.0.1:${node.port}`);
    expect(await isListening(node.port)).toBe(true);
    if (node.folder !== null) expect(fs.readdirSync(node.folder)).toContain('orders-2');
    const client = net.connect(node.port, '127.0.0.1');
    client.on('error', () => {});
    await new Promise((resolve) => client.once('connect', resolve));
    const closed = new Promise((resolve) => client.once('close', resolve));
    await Promise.all([node.stop(), node.stop(), node[Symbol.asyncDispose]()]);
    await closed;
    if (node.folder !== null) expect(fs.existsSync(node.folder)).toBe(false);
    expect(openSockets()).toBeLessThanOrEqual(before);
    expect(await isListening(node.port)).toBe(false);
    if (node.folder !== null) expect(openFiles(node.folder)).toEqual([]);
  });

  test('in a folder finds its data again, and refuses a second node', async () => {
    const disk = path.join(folder, 'data');
    const first = await startNode({ disk, topics: { orders: 1 } });
    await expect(startNode({ disk })).rejects.toThrow('is in use by another node of this process');
    await first.stop();
    const second = await startNode({ disk });
    expect(fs.readdirSync(disk)).toContain('orders-0');
    await second.stop();
  });

  test('many nodes live side by side', async () => {
    const nodes = await Promise.all(Array.from({ length: 10 }, () => startNode()));
    expect(new Set(nodes.map((node) => node.port)).size).toBe(10);
    await Promise.all(nodes.map((node) => node.stop()));
  });

  test('a wrong setting rejects with its sentence', async () => {
    await expect(startNode({ settings: { 'log.segment.bytes': 1 } })).rejects.toThrow('but must be at least');
    await expect(startNode({ disk: 'mmeory' })).rejects.toThrow('must be "memory", "temporary" or a path');
  });

  test('a node that nobody stopped does not keep its process alive', async () => {
    const script = `import { startNode } from ${JSON.stringify(pathToFileURL(TESTING).href)}; await startNode();`;
    const ended = await runNode(['--input-type=module', '-e', script]);
    expect(ended).toMatchObject({ code: 0, errors: '' });
  });
});
