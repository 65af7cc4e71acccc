import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../core/config/parse.ts';
import { VOTERS_MAX } from '../../core/config/values.ts';

type Entries = Readonly<Record<string, string>>;

const LISTENERS = { listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093', 'controller.listener.names': 'CONTROLLER' };
const BROKER = { 'process.roles': 'broker', 'controller.listener.names': 'CONTROLLER' };
const CONTROLLER = { ...LISTENERS, 'process.roles': 'controller', listeners: 'CONTROLLER://:9093' };

function parse(entries: Entries) {
  return parseSettings(new Map(Object.entries(entries)));
}

function errors(entries: Entries): string[] {
  return parse(entries).problems.flatMap(({ severity, sentence }) => (severity === 'error' ? [sentence] : []));
}

describe('controller.quorum.voters', () => {
  test('of this node alone is what a node is without it', () => {
    const { config, problems } = parse({ ...LISTENERS, 'controller.quorum.voters': '1@[::1]:9093' });
    expect(problems).toEqual([]);
    expect(config['controller.quorum.voters']).toEqual([{ id: 1, host: '::1', port: 9093 }]);
    expect(parse({}).config['controller.quorum.voters']).toEqual([]);
  });

  test.each([
    ['a@host:1', 'has "a@host:1", which does not look like id@host:port'],
    ['1@host', 'has "host", which does not look like host:port'],
    ['host:9093', 'has "host:9093", which does not look like id@host:port'],
    ['-1@host:9093', 'has "-1@host:9093", which does not look like id@host:port'],
    ['2147483648@host:9093', 'has "2147483648@host:9093", which does not look like id@host:port'],
    ['1@host:0', 'has the port 0, but must have 1 to 65535'],
    ['1@host:65536', 'has the port 65536, but must have 1 to 65535'],
    ['1@0.0.0.0:9093', 'has 0.0.0.0, to which no node can connect'],
    ['1@a:1,1@b:1', 'names the voter 1 twice'],
    ['1@a:1,', 'has "", which does not look like id@host:port'],
  ])('%j is refused', (text, why) => {
    expect(errors({ ...LISTENERS, 'controller.quorum.voters': text })).toEqual([`controller.quorum.voters ${why}.`]);
  });

  test('of more than five is refused', () => {
    const voters = (count: number): string => Array.from({ length: count }, (_, i) => `${i + 1}@h${i}:9093`).join(',');
    const ask = (count: number): string[] => errors({ ...LISTENERS, 'controller.quorum.voters': voters(count) });
    expect(ask(VOTERS_MAX + 1)).toEqual(['controller.quorum.voters has 6 voters, but may have 5.']);
    expect(ask(VOTERS_MAX)).toEqual([]);
  });

  test('has every controller, and no node that is none', () => {
    expect(errors({ ...LISTENERS, 'controller.quorum.voters': '2@h:9093' })).toEqual([
      'controller.quorum.voters lacks node 1, which is a controller.',
    ]);
    expect(errors({ ...BROKER, 'controller.quorum.voters': '1@h:9093' })).toEqual([
      'controller.quorum.voters has node 1, which is no controller.',
    ]);
  });
});

describe('controller.quorum.bootstrap.servers', () => {
  test('are addresses', () => {
    const ask = (text: string): string[] => errors({ ...LISTENERS, 'controller.quorum.bootstrap.servers': text });
    expect(ask('localhost:9093')).toEqual([]);
    expect(ask('localhost')).toEqual([
      'controller.quorum.bootstrap.servers has "localhost", which does not look like host:port.',
    ]);
    expect(ask('a:1,b:1')).toEqual([]);
  });
});

describe('roles and the listeners of controllers', () => {
  test.each<[Entries, string]>([
    [{ 'process.roles': 'broker,broker' }, 'process.roles names a role twice.'],
    [{ 'process.roles': 'king' }, 'process.roles has the element "king", but may only have broker, controller.'],
    [{ 'process.roles': '' }, 'process.roles is empty.'],
    [
      { 'controller.listener.names': 'CONTROLLER' },
      'controller.listener.names must have a listener that listeners has, for this node is a controller.',
    ],
    [
      { 'controller.quorum.voters': '1@h:9093' },
      'controller.listener.names must have a listener that listeners has, for this node is a controller.',
    ],
    [{ 'controller.listener.names': 'PLAINTEXT' }, 'listeners has no listener for clients.'],
    [
      { ...LISTENERS, 'inter.broker.listener.name': 'controller' },
      'inter.broker.listener.name is CONTROLLER, which is for controllers only.',
    ],
    [
      { ...BROKER },
      'A node that is no controller needs controller.quorum.bootstrap.servers or controller.quorum.voters to find one.',
    ],
    [
      { ...BROKER, 'controller.quorum.voters': '2@h:9093', 'controller.listener.names': '' },
      'controller.listener.names is empty, and this node must find its controllers.',
    ],
    [
      { ...BROKER, 'controller.quorum.voters': '2@h:9093', listeners: LISTENERS.listeners },
      'listeners has CONTROLLER, which is for controllers, and this node is none.',
    ],
    [
      { ...CONTROLLER, listeners: LISTENERS.listeners },
      'listeners has PLAINTEXT, and a node that is no broker listens for controllers only.',
    ],
  ])('%j: %s', (entries, sentence) => {
    expect(errors(entries)).toContain(sentence);
  });

  test('of a broker alone and of a controller alone may be right', () => {
    expect(errors({ ...BROKER, 'controller.quorum.voters': '2@h:9093' })).toEqual([]);
    expect(errors(CONTROLLER)).toEqual([]);
  });
});
