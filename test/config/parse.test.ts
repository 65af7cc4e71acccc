import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { topicConfig } from '../../core/config/log-config.ts';
import { clientListeners, defaultConfig, ENTRIES_MAX, parseSettings } from '../../core/config/parse.ts';
import { SETTINGS } from '../../core/config/settings.ts';
import { readValue } from '../../core/config/values.ts';

function parse(entries: Readonly<Record<string, string>>) {
  return parseSettings(new Map(Object.entries(entries)));
}

function errors(entries: Readonly<Record<string, string>>): string[] {
  return parse(entries)
    .problems.filter((problem) => problem.severity === 'error')
    .map((problem) => problem.sentence);
}

function warnings(entries: Readonly<Record<string, string>>): string[] {
  return parse(entries)
    .problems.filter((problem) => problem.severity === 'warning')
    .map((problem) => problem.sentence);
}

describe('the table of settings', () => {
  test('every default can be read and lies within its bounds', () => {
    for (const [name, setting] of SETTINGS) {
      if (setting.default !== null) expect(readValue(setting, setting.default), name).toHaveProperty('value');
    }
  });

  test('every setting has a value, and only those without a default and an heir are null', () => {
    const config = defaultConfig() as unknown as Record<string, unknown>;
    for (const [name, setting] of SETTINGS) {
      if (setting.default !== null || setting.inherits !== null) expect(config[name], name).not.toBeNull();
      expect(config[name], name).not.toBeUndefined();
    }
  });

  test('every sentence is one', () => {
    for (const [name, { sentence }] of SETTINGS) expect(sentence, name).toMatch(/^[A-Z].*\.$/);
  });

  test('what is inherited from exists', () => {
    for (const [name, { inherits }] of SETTINGS)
      if (inherits !== null) expect(SETTINGS.has(inherits.from), name).toBe(true);
  });
});

describe('values as Kafka reads them', () => {
  test('records are durable by default, and Long.MAX turns syncing off', () => {
    expect(defaultConfig()['log.flush.interval.messages']).toBe(1);
    const { config } = parse({ 'log.flush.interval.messages': '9223372036854775807' });
    expect(config['log.flush.interval.messages']).toBe(Number.POSITIVE_INFINITY);
    expect(config.given.get('log.flush.interval.messages')).toBe('9223372036854775807');
  });

  test('blanks around a value and a plus sign are dropped', () => {
    expect(parse({ 'log.segment.bytes': ' +2000000 ' }).config['log.segment.bytes']).toBe(2_000_000);
  });

  test.each(['', '1.5', '1e6', '0x10', '10 MB', '१'])('%j is not a whole number', (text) => {
    expect(errors({ 'log.segment.bytes': text })).toEqual([
      `log.segment.bytes is "${text}", which is not a whole number.`,
    ]);
  });

  test('a number beyond 64 bits and one beyond 32 are told apart', () => {
    expect(errors({ 'log.roll.ms': '9223372036854775808' })[0]).toContain('does not fit 64 bits');
    expect(errors({ 'log.segment.bytes': '2147483648' })[0]).toContain('must be at most 2147483647');
  });

  test('bounds are named with the unit', () => {
    expect(errors({ 'log.segment.bytes': '10' })).toEqual([
      'log.segment.bytes is 10 bytes, but must be at least 1048576.',
    ]);
  });

  test('-1 means no limit where Kafka says so, and is out of bounds elsewhere', () => {
    expect(parse({ 'log.retention.ms': '-1' }).config['log.retention.ms']).toBe(Number.POSITIVE_INFINITY);
    expect(errors({ 'log.roll.ms': '-1' }).length).toBe(1);
  });

  test('booleans ignore case and take no other word', () => {
    expect(parse({ 'auto.create.topics.enable': 'FALSE' }).config['auto.create.topics.enable']).toBe(false);
    expect(errors({ 'auto.create.topics.enable': 'yes' })[0]).toContain('must be true or false');
  });

  test('a choice names what it may be', () => {
    expect(errors({ 'compression.type': 'brotli' })[0]).toContain('producer, uncompressed, gzip');
  });

  test('milliseconds win over hours, hours count where milliseconds are absent', () => {
    expect(parse({ 'log.roll.hours': '2' }).config['log.roll.ms']).toBe(7_200_000);
    expect(parse({ 'log.roll.hours': '2', 'log.roll.ms': '5' }).config['log.roll.ms']).toBe(5);
    const retention = { 'log.retention.hours': '2', 'log.retention.minutes': '3' };
    expect(parse(retention).config['log.retention.ms']).toBe(180_000);
    expect(parse({ 'log.retention.hours': '-1' }).config['log.retention.ms']).toBe(Number.POSITIVE_INFINITY);
  });

  test('log.dirs wins over log.dir', () => {
    expect(parse({ 'log.dir': '/a' }).config['log.dirs']).toEqual(['/a']);
    expect(parse({ 'log.dir': '/a', 'log.dirs': '/b , /c' }).config['log.dirs']).toEqual(['/b', '/c']);
    expect(errors({ 'log.dirs': '/b,/b' })).toEqual(['log.dirs names a folder twice.']);
    expect(errors({ 'log.dirs': '' })).toEqual(['log.dirs is empty.']);
  });

  test('topics that exist from the start have a name and partitions', () => {
    expect(parse({ 'tidemark.topics': 'orders:3, events' }).config['tidemark.topics']).toEqual([
      { name: 'orders', partitions: 3 },
      { name: 'events', partitions: 1 },
    ]);
    for (const bad of ['a b:1', 'a:0', 'a:x', '..:1', 'a:1,a:2', `${'x'.repeat(250)}:1`]) {
      expect(errors({ 'tidemark.topics': bad }).length, bad).toBe(1);
    }
  });

  test('any text is read or refused, never thrown at', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SETTINGS.keys()), fc.string(), (name, text) => {
        parse({ [name]: text });
      }),
    );
  });
});

describe('listeners', () => {
  const addresses = (text: string) => parse({ listeners: text }).config.listeners;

  test('have a name, a host and a port; an IPv6 host stands in brackets; a host may be absent', () => {
    expect(addresses('PLAINTEXT://0.0.0.0:9092')).toEqual([{ name: 'PLAINTEXT', host: '0.0.0.0', port: 9092 }]);
    expect(addresses('plaintext://[::1]:0')).toEqual([{ name: 'PLAINTEXT', host: '::1', port: 0 }]);
    expect(addresses('PLAINTEXT://:9092')).toEqual([{ name: 'PLAINTEXT', host: '', port: 9092 }]);
  });

  test.each(['localhost:9092', 'PLAINTEXT://localhost', 'PLAINTEXT://a:70000', '', 'PLAINTEXT://::1:9092'])(
    '%j is refused',
    (text) => expect(errors({ listeners: text }).length).toBe(1),
  );

  test('a protocol that is not served yet is refused by name', () => {
    expect(errors({ listeners: 'SSL://:9093', 'listener.security.protocol.map': 'SSL:SSL' })[0]).toContain(
      'SSL wants SSL, but only PLAINTEXT is served yet',
    );
    expect(errors({ listeners: 'INTERNAL://:9093' })[0]).toContain('has no protocol');
  });

  test("Kafka's example configuration of a combined node can be used as it is", () => {
    const { config, problems } = parse({
      'process.roles': 'broker,controller',
      'node.id': '1',
      'controller.quorum.bootstrap.servers': 'localhost:9093',
      listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093',
      'inter.broker.listener.name': 'PLAINTEXT',
      'advertised.listeners': 'PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093',
      'controller.listener.names': 'CONTROLLER',
      'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL',
      'num.network.threads': '3',
      'socket.send.buffer.bytes': '102400',
      'log.dirs': '/tmp/kraft-combined-logs',
      'offsets.topic.replication.factor': '1',
      'log.retention.hours': '168',
    });
    expect(problems.filter((problem) => problem.severity === 'error')).toEqual([]);
    expect(clientListeners(config).map((listener) => listener.name)).toEqual(['PLAINTEXT']);
  });

  test('an advertised name must be listened on, and its host must be reachable', () => {
    expect(errors({ 'advertised.listeners': 'OTHER://host:1' })[0]).toContain('but listeners does not');
    expect(errors({ 'advertised.listeners': 'PLAINTEXT://0.0.0.0:1' })[0]).toContain('no client can connect');
  });
});

describe('names', () => {
  test('an unknown one is an error with the name that was probably meant', () => {
    expect(errors({ 'log.retention.hour': '1' })).toEqual([
      'There is no setting log.retention.hour: did you mean log.retention.hours?',
    ]);
    expect(errors({ 'no.such.thing.at.all': '1' })[0]).toContain('tidemark settings');
  });

  test('one of Kafka that means nothing here is ignored with one warning', () => {
    expect(warnings({ 'num.io.threads': '8' })).toEqual(['num.io.threads means nothing to Tidemark and is ignored.']);
    expect(warnings({ 'transaction.max.timeout.ms': '8' })[0]).toContain('not served by Tidemark yet');
    expect(warnings({ 'listener.name.plaintext.ssl.key.password': 'x' }).length).toBe(1);
  });

  test('one that does not act yet is checked and kept with one warning', () => {
    expect(warnings({ 'log.retention.ms': '1000' })).toEqual(['log.retention.ms is kept, but it does not act yet.']);
    expect(errors({ 'log.retention.ms': 'soon' }).length).toBe(1);
  });

  test('broker.id is node.id', () => {
    expect(parse({ 'broker.id': '7' }).config['node.id']).toBe(7);
    expect(errors({ 'broker.id': '7', 'node.id': '8' }).length).toBe(1);
  });

  test('all problems are told at once', () => {
    expect(errors({ 'log.segment.bytes': 'x', 'compression.type': 'x', nonsense: 'x' }).length).toBe(3);
  });

  test('a flood of settings is refused', () => {
    const flood = new Map(Array.from({ length: ENTRIES_MAX + 1 }, (_, i) => [`n${i}`, '']));
    expect(parseSettings(flood).problems.length).toBe(1);
  });
});

describe('the settings of a log', () => {
  test("are the node's defaults under their topic names", () => {
    const { config } = parse({ 'log.segment.bytes': '2000000', 'log.roll.hours': '1', 'message.max.bytes': '500' });
    expect(topicConfig(config)).toMatchObject({
      segmentBytes: 2_000_000,
      segmentMs: 3_600_000,
      messageBytesMax: 500,
      flushMessages: 1,
      flushMs: Number.POSITIVE_INFINITY,
      compressionType: 'producer',
      timestampType: 'CreateTime',
    });
  });

  test('the budget for half-received frames must hold the largest one', () => {
    expect(errors({ 'tidemark.frames.max.bytes': '2000000' })[0]).toContain('socket.request.max.bytes');
  });
});
