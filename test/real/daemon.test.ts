/** The built daemon as operators meet it: how it starts, refuses, stops, and what hostile peers can do to it. */
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { processorMs, residentBytes } from '../../tools/peers/process.ts';
import { type Daemon, run, runUnread, startDaemon, stopDaemon, TIDEMARK } from './daemon-process.ts';

const MIB = 1024 * 1024;

describe('the daemon', () => {
  const running: Daemon[] = [];
  const folders: string[] = [];

  async function start(settings: Readonly<Record<string, string>> = {}, folder?: string): Promise<Daemon> {
    const daemon = await startDaemon(settings, folder);
    running.push(daemon);
    return daemon;
  }

  function temporaryFolder(): string {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-daemon-'));
    folders.push(folder);
    return folder;
  }

  afterEach(async () => {
    for (const daemon of running.splice(0)) await stopDaemon(daemon);
    for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
  });

  /** Sends the bytes of an ApiVersions request of version 0 and waits for the answer's correlation id. */
  async function apiVersions(port: number): Promise<number> {
    const request = Buffer.from('0000000e' + '0012' + '0000' + '0000002a' + '0004' + '74657374', 'hex');
    const socket = net.connect(port, '127.0.0.1');
    socket.write(request);
    const answer = await new Promise<Buffer>((resolve, reject) => {
      socket.once('data', resolve);
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('closed without an answer')));
    });
    socket.destroy();
    return answer.readInt32BE(4);
  }

  test('says soon where it listens, where its data is, what to try next; answers; stops cleanly', async () => {
    const daemon = await start();
    expect(processorMs(daemon.process.pid ?? -1)).toBeLessThan(700);
    expect(await apiVersions(daemon.port)).toBe(42);
    const files = fs.readdirSync(daemon.folder);
    expect(files).toContain('meta.properties');
    daemon.process.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
    // It serves before all that it says has been heard.
    expect(daemon.output()).toContain(daemon.folder);
    expect(daemon.output()).toMatch(/try next: .*kcat/);
    expect(fs.readdirSync(daemon.folder)).toContain('.kafka_cleanshutdown');
  });

  test('that stands still is killed by its watchdog; one that stops takes its watchdog along', async () => {
    const watched = { 'tidemark.watchdog.timeout.ms': '600' };
    const hung = await start(watched);
    hung.process.kill('SIGSTOP');
    const { code, errors } = await hung.ended;
    expect(code).toBe(null);
    expect(errors).toBe('tidemark: the node has stood still for 600 ms; its watchdog ends it\n');
    expect(hung.process.signalCode).toBe('SIGKILL');

    const idle = await start(watched);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await apiVersions(idle.port)).toBe(42);
    // What the watchdog holds open of the output ends with it.
    expect((await stopDaemon(idle)).code).toBe(0);
  });

  test('every line of its output is JSON when no terminal reads it', async () => {
    const daemon = await start();
    const lines = (await stopDaemon(daemon)).output.trim().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg');
  });

  test('a port in use is one sentence and exit code 1, and nothing is touched', async () => {
    const daemon = await start();
    const folder = path.join(temporaryFolder(), 'data');
    const ended = await run([
      'start',
      '--set',
      `listeners=PLAINTEXT://127.0.0.1:${daemon.port}`,
      '--set',
      `log.dirs=${folder}`,
    ]);
    expect(ended.code).toBe(1);
    expect(ended.errors.trim().split('\n').length).toBe(1);
    expect(ended.errors).toContain(String(daemon.port));
    expect(fs.existsSync(folder)).toBe(false);
  });

  test('a folder that is in use is refused, and the node in it goes on', async () => {
    const daemon = await start();
    const ended = await run([
      'start',
      '--set',
      'listeners=PLAINTEXT://127.0.0.1:0',
      '--set',
      `log.dirs=${daemon.folder}`,
    ]);
    expect(ended.code).toBe(1);
    expect(ended.errors).toContain(`is in use by process ${daemon.process.pid}`);
    expect(await apiVersions(daemon.port)).toBe(42);
  });

  test('the folder of a killed node is taken over at once', async () => {
    const folder = temporaryFolder();
    const killed = await startDaemon({}, folder);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const daemon = await start({}, folder);
    expect(await apiVersions(daemon.port)).toBe(42);
  });

  test('a folder with foreign files is refused, and left as it was', async () => {
    const folder = temporaryFolder();
    fs.writeFileSync(path.join(folder, 'letters.txt'), 'dear');
    const ended = await run(['start', '--set', 'listeners=PLAINTEXT://127.0.0.1:0', '--set', `log.dirs=${folder}`]);
    expect(ended.code).toBe(1);
    expect(ended.errors).toContain(folder);
    expect(fs.readdirSync(folder)).toEqual(['letters.txt']);
  });

  test('a meta.properties that is not ours is refused, and left as it was', async () => {
    const folder = temporaryFolder();
    fs.writeFileSync(path.join(folder, 'meta.properties'), 'version=1\nnode.id=77\ncluster.id=abc\n');
    const ended = await run(['start', '--set', 'listeners=PLAINTEXT://127.0.0.1:0', '--set', `log.dirs=${folder}`]);
    expect(ended.code).toBe(1);
    expect(ended.errors).toContain('77');
    expect(fs.readdirSync(folder)).toEqual(['meta.properties']);
  });

  test.each([
    ['an unknown flag', ['start', '--nonsense'], /unknown option/],
    ['an unknown command', ['nonsense'], /unknown command/],
    [
      'a setting out of bounds',
      ['start', '--set', 'log.segment.bytes=1'],
      /log\.segment\.bytes is 1 bytes, but must be/,
    ],
    ['an unknown setting', ['start', '--set', 'log.segment.byte=1'], /did you mean log\.segment\.bytes\?/],
    ['a setting without a value', ['start', '--set', 'log.dirs'], /name=value/],
  ])('%s is one sentence and exit code 2', async (_what, args, sentence) => {
    const ended = await run(args);
    expect(ended.code).toBe(2);
    expect(ended.errors).toMatch(sentence);
    expect(ended.output).toBe('');
  });

  test('a configuration file that cannot be read is one sentence and exit code 1', async () => {
    const ended = await run(['start', '--config', '/no/such.properties']);
    expect(ended).toMatchObject({ code: 1, output: '' });
    expect(ended.errors).toMatch(/^tidemark: The configuration file \/no\/such\.properties cannot be read/);
  });

  test('a setting from the environment says where it came from when it is wrong', async () => {
    const ended = await run(['start'], { TIDEMARK_LOG_SEGMENT_BYTES: 'many' });
    expect(ended.code).toBe(2);
    expect(ended.errors).toContain('(from TIDEMARK_LOG_SEGMENT_BYTES)');
  });

  test('prints its version, its help with examples, and its settings for programs', async () => {
    expect((await run(['--version'])).output).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(['--help'])).output).toContain('Examples:');
    const settings = JSON.parse((await run(['settings', '--json'])).output) as { name: string }[];
    expect(settings.length).toBeGreaterThan(40);
  });

  test.each([[[TIDEMARK, 'settings']], [[TIDEMARK, '--help']], [['dist/tools/cli/sim.js', 'list']]])(
    'a command whose reader goes away ends without a word: %j',
    async (args) => {
      expect(await runUnread(args)).toMatchObject({ code: 0, errors: '' });
    },
  );

  test('200 connections that announce 90 MB and say nothing leave memory flat', async () => {
    const daemon = await start();
    for (let i = 0; i < 20; i++) await apiVersions(daemon.port);
    const before = residentBytes(daemon.process.pid ?? -1);
    const announce = Buffer.alloc(14);
    announce.writeInt32BE(90 * MIB, 0);
    const sockets = Array.from({ length: 200 }, () => {
      const socket = net.connect(daemon.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(announce);
      return socket;
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await apiVersions(daemon.port)).toBe(42);
    const grown = residentBytes(daemon.process.pid ?? -1) - before;
    for (const socket of sockets) socket.destroy();
    expect(grown).toBeLessThan(30 * MIB);
  });

  test('bytes that are no protocol at all cost a connection and nothing else', async () => {
    const daemon = await start();
    for (const bytes of [
      'GET / HTTP/1.1\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01',
      '\xff'.repeat(40),
      '\0\0\0\x04\0\0\0\0',
    ]) {
      const socket = net.connect(daemon.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.end(Buffer.from(bytes, 'latin1'));
      socket.resume();
      await new Promise((resolve) => socket.once('close', resolve));
    }
    expect(await apiVersions(daemon.port)).toBe(42);
  });
});
