/**
 * The configuration files of `examples`, as a newcomer uses them, but for their ports and folders: the nodes find each
 * other, take a topic and records, go on without any one of them, and stop cleanly.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { askController, askPartitions } from '../../tools/peers/ask.ts';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { freePort, runOrThrow, type Service, serve } from '../../tools/peers/process.ts';
import { tidemarkProgram } from '../../tools/peers/tidemark.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const shell = problem === null ? await startKafkaShell() : null;
const services: Service[] = [];
const inputs = temporaryFolder();
afterAll(async () => {
  shell?.stop();
  for (const service of services) await service.stop('SIGKILL');
});

interface Member {
  readonly nodeId: number;
  /** What clients connect to; null where it serves none. */
  readonly port: number | null;
  readonly controllerPort: number | null;
  readonly start: () => Promise<Service>;
  service: Service | null;
}

/** The files of an example with free ports in place of theirs, and a folder of their own. */
async function members(example: string): Promise<Member[]> {
  const folder = temporaryFolder();
  const names = readdirSync(join(EXAMPLES, example)).sort();
  const texts = names.map((name) => readFileSync(join(EXAMPLES, example, name), 'utf8'));
  const ports = new Map<string, number>();
  for (const port of texts.join('').match(/(?<=127\.0\.0\.1:)\d+/g) ?? []) {
    if (!ports.has(port)) ports.set(port, await freePort());
  }
  return names.map((name, i) => {
    const moved = (texts[i] ?? '').replace(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(ports.get(port)));
    const file = join(folder, name);
    writeFileSync(file, moved);
    const portOf = (listener: string): number | null => {
      const found = new RegExp(`^listeners=.*\\b${listener}://127.0.0.1:(\\d+)`, 'm').exec(moved);
      return found === null ? null : Number(found[1]);
    };
    const [port, controllerPort] = [portOf('PLAINTEXT'), portOf('CONTROLLER')];
    const member: Member = {
      nodeId: Number(/^node.id=(\d+)$/m.exec(moved)?.[1]),
      port,
      controllerPort,
      service: null,
      start: async () => {
        const args = [tidemarkProgram(), 'start', '--config', file];
        const service = serve(process.execPath, args, { folder });
        services.push(service);
        member.service = service;
        await inTime(`node ${name} to say that it listens`, async () => {
          if (service.exitCode() !== null) throw new Error(`${name} has ended: ${service.output()}`);
          return /listens on/.test(service.output()) ? true : null;
        });
        return service;
      },
    };
    return member;
  });
}

describe.skipIf(problem !== null).each(['three-nodes', 'separate-roles'])(
  'the files of examples/%s',
  async (example) => {
    const nodes = await members(example);
    const brokers = nodes.filter(({ port }) => port !== null);
    const bootstrap = brokers.map(({ port }) => `127.0.0.1:${port}`).join(',');

    async function tool(name: string, ...args: string[]): Promise<string> {
      const isFirst = name === 'metadata-quorum';
      const address = ['--bootstrap-server', bootstrap];
      const finished = await shell?.run(name, isFirst ? [...address, ...args] : [...args, ...address]);
      expect(finished?.code, `${finished?.stdout}${finished?.stderr}`).toBe(0);
      return finished?.stdout ?? '';
    }

    async function expectWritten(lines: number, wanted: number): Promise<void> {
      const to = ['-b', bootstrap, '-t', 'payments', '-p', '0'];
      const input = join(inputs, 'lines');
      writeFileSync(input, Array.from({ length: lines }, (_, i) => `${i}\n`).join(''));
      await runOrThrow('kcat', ['-P', ...to, '-X', 'enable.idempotence=true', '-l', input], { timeoutMs: 30_000 });
      const { stdout } = await runOrThrow('kcat', ['-C', ...to, '-o', 'beginning', '-e', '-q'], { timeoutMs: 30_000 });
      expect(stdout.trimEnd().split('\n').length).toBe(wanted);
    }

    async function inSync(count: number): Promise<void> {
      await inTime(`${count} replicas in sync`, async () => {
        for (const { port } of brokers) {
          const found = await askPartitions({ port: port ?? 0 }, ['payments']).catch(() => []);
          if (found.length > 0 && found.every((one) => one.inSync.length === count)) return true;
        }
        return null;
      });
    }

    it('start, elect, take a topic and records', async () => {
      await Promise.all(nodes.map((node) => node.start()));
      await tool('topics', '--create', '--topic', 'payments', '--partitions', '3');
      const described = await tool('topics', '--describe', '--topic', 'payments');
      expect(described).toMatch(/PartitionCount: 3\s+ReplicationFactor: 3/);
      await expectWritten(1_000, 1_000);
      await inSync(3);
      const quorum = await tool('metadata-quorum', 'describe', '--replication');
      const states = nodes.map(
        ({ nodeId }) => new RegExp(`^${nodeId}\\s.*(Leader|Follower|Observer)\\s*$`, 'm').exec(quorum)?.[1],
      );
      const voters = nodes.filter(({ controllerPort }) => controllerPort !== null).length;
      expect(states.filter((state) => state === 'Leader').length, quorum).toBe(1);
      expect(states.filter((state) => state === 'Follower').length, quorum).toBe(voters - 1);
      expect(states.filter((state) => state === 'Observer').length, quorum).toBe(nodes.length - voters);
    });

    it('go on without the active controller, and without a broker', async () => {
      const [first] = brokers;
      const active = await askController({ port: first?.port ?? 0 });
      const dying = nodes.find(({ nodeId }) => nodeId === active);
      await dying?.service?.stop('SIGKILL');
      await tool('topics', '--create', '--topic', 'made-meanwhile', '--partitions', '2', '--replication-factor', '2');
      await expectWritten(1_000, 2_000);
      await dying?.start();
      await inSync(3);
      const last = brokers[brokers.length - 1];
      await last?.service?.stop('SIGKILL');
      await expectWritten(1_000, 3_000);
      await last?.start();
      await inSync(3);
      await expectWritten(1_000, 4_000);
    });

    it('stop cleanly, one after the other', async () => {
      for (const { service } of nodes) expect(await service?.stop('SIGTERM')).toBe(0);
    });
  },
);
