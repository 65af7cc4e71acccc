/** Settings that are accepted and do not act yet: the node's log says so, once a name. */
import { describe, expect, it } from 'vitest';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

const LINE = 'a setting is kept, but it does not act yet';
const [TOPIC, BROKER] = [2, 4];

function create(world: ToyWorld, client: ToyConnection, name: string, values: Record<string, string>): void {
  const configs = Object.entries(values).map(([key, value]) => ({ name: key, value }));
  const topics = [{ name, numPartitions: 1, replicationFactor: -1, assignments: [], configs }];
  const [made] = world.ask(client, 19, 7, { topics, timeoutMs: 1000, validateOnly: false }).topics;
  expect(made!.errorCode).toBe(0);
}

function alter(
  world: ToyWorld,
  client: ToyConnection,
  type: number,
  resourceName: string,
  name: string,
  value: string,
) {
  const configs = [{ name, value, configOperation: 0 }];
  const resources = [{ resourceType: type, resourceName, configs }];
  expect(world.ask(client, 44, 1, { resources, validateOnly: false }).responses[0]!.errorCode).toBe(0);
}

function said(world: ToyWorld): string[] {
  return world.said
    .filter((line) => line.includes(LINE))
    .map((line) => line.slice(line.indexOf(LINE) + LINE.length + 1));
}

describe('a setting that does not act yet', () => {
  it('is named when a topic is created with it, and never again', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    create(world, client, 'first', { 'retention.ms': '5000', 'max.message.bytes': '2000', preallocate: 'true' });
    create(world, client, 'second', { 'retention.ms': '6000' });
    expect(said(world).sort()).toEqual(['setting=preallocate topic=first', 'setting=retention.ms topic=first']);
  });

  it('is not named at its default, however that is written', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    create(world, client, 'first', { 'cleanup.policy': ' delete ', 'min.cleanable.dirty.ratio': '.5' });
    expect(said(world)).toEqual([]);
  });

  it('is named when a topic or a broker gets it, and again by the next life of the node', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    alter(world, client, TOPIC, 'orders', 'cleanup.policy', 'compact');
    alter(world, client, BROKER, '1', 'log.cleaner.threads', '3');
    alter(world, client, BROKER, '', 'log.retention.ms', '3');
    alter(world, client, BROKER, '', 'message.max.bytes', '3000');
    const lines = ['setting=cleanup.policy topic=orders', 'setting=log.cleaner.threads broker=1'];
    lines.push('setting=log.retention.ms broker=all');
    expect(said(world)).toEqual(lines);
    world.crash('process');
    expect(said(world).sort()).toEqual(lines.sort());
  });
});
