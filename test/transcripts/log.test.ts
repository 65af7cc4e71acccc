/**
 * Transcripts of one partition's log on a simulated disk: what is asked of the disk and done, what survives. An append
 * is answered at once and acknowledged when it is durable; until `disk`, nothing that was asked has been done.
 */

import type { DiskEffect } from '../../core/lib/world.ts';
import { endOffsetForEpoch, openLog, recoveryPoint, truncateTo } from '../../core/log/log.ts';
import type { LogEvent } from '../../core/log/types.ts';
import { errorName } from '../../core/protocol/errors.ts';
import {
  append,
  batchOf,
  createWorld,
  FOUND,
  type LogWorld,
  post,
  read,
  restart,
  stepOnce,
  valuesOf,
} from '../log/world.ts';
import { type Command, numberOf, optionOf, playAll } from './transcript.ts';

const STEPS_MAX = 10_000;
const DATA = '/data';
const FOLDER = `${DATA}/orders-0`;
/** What the dice of a power loss keep: the names of now, and of every file just what was synced. */
const SYNCED_ONLY = 0.4;

interface Story {
  readonly world: LogWorld;
  /** What the dice show. 0: the disk does things in the order in which they were asked. */
  readonly dice: { shows: number };
  checkpoint: { recoveryPoint: number; highWatermark: number };
  /** Paths of files, by id, in this life. */
  readonly paths: Map<number, string>;
  looked: number;
}

function begin(command: Command): Story {
  const dice = { shows: 0 };
  const given = [...command.options].map(([name, value]) => [name, Number(value)]);
  const world = createWorld({ indexIntervalBytes: 4096, ...Object.fromEntries(given) }, () => dice.shows);
  return { world, dice, checkpoint: { recoveryPoint: 0, highWatermark: 0 }, paths: new Map(), looked: 0 };
}

/** The disk does so many of the things that it was asked for, or all; what leaves no trace does not count. */
function disk(story: Story, count: number): string[] {
  const { world } = story;
  const lines: string[] = [];
  for (let steps = 0, told = 0; told < count && stepOnce(world); steps++) {
    if (steps > STEPS_MAX) throw new Error('the log does not come to rest');
    for (const effect of world.disk.done.slice(story.looked)) {
      if (effect.kind === 'open') story.paths.set(effect.file, effect.path);
      const text = effectText(story, effect);
      if (text !== '') {
        lines.push(text);
        told++;
      }
    }
    story.looked = world.disk.done.length;
    for (const event of world.events.splice(0)) lines.push(...eventTexts(story, event));
  }
  return lines;
}

function nameOf(path: string): string {
  if (path === DATA) return 'the data directory';
  return path === FOLDER ? 'the folder' : path.slice(FOLDER.length + 1).replace(/^0{15}/, '');
}

function effectText(story: Story, effect: DiskEffect): string {
  const file = 'file' in effect ? nameOf(story.paths.get(effect.file) ?? '') : '';
  switch (effect.kind) {
    case 'append':
      return `disk: append ${effect.parts.reduce((sum, part) => sum + part.length, 0)} bytes to ${file}`;
    case 'sync':
      return `disk: sync ${file}`;
    case 'truncate':
      return `disk: truncate ${file} to ${effect.size} bytes`;
    case 'replace':
      return `disk: replace ${nameOf(effect.path)}`;
    case 'remove':
      return `disk: remove ${nameOf(effect.path)}`;
    case 'rename':
      return `disk: rename ${nameOf(effect.from)} to ${nameOf(effect.to)}`;
    case 'syncFolder':
      return `disk: sync the names in ${nameOf(effect.path)}`;
    default:
      return '';
  }
}

function eventTexts(story: Story, event: LogEvent): string[] {
  const { log } = story.world;
  switch (event.kind) {
    case 'durable':
      return [`durable up to ${log.durable}`];
    case 'opened':
      return [`open: ${stateText(story)}`];
    case 'truncated':
      return [`cut: the log ends at ${event.offset}`];
    case 'cutBack':
      return [`cut back to ${event.offset}: what was appended there did not happen`];
    case 'cutRefused':
      return [`not cut: no batch begins there, one begins at ${event.offset}`];
    case 'failed':
      return [`failed: ${event.detail}`];
    default:
      return [];
  }
}

function stateText({ world }: Story): string {
  const { start, end, durable, epochs, producers, damaged } = world.log;
  const parts = [`${start} to ${end}, durable up to ${durable}`];
  if (epochs.length > 0) parts.push(`epochs ${epochs.map((one) => `${one.epoch} from ${one.startOffset}`).join(', ')}`);
  for (const [id, { epoch, lastSequence }] of producers ?? []) {
    parts.push(`producer ${id} epoch ${epoch} sequence ${lastSequence}`);
  }
  for (const range of damaged) parts.push(`damaged ${range.start} to ${range.end}`);
  return parts.join('; ');
}

function appendOne(story: Story, command: Command): string[] {
  const producerId = optionOf(command, 'producer', -1);
  const producer = {
    producerId,
    producerEpoch: optionOf(command, 'producerEpoch', 0),
    baseSequence: optionOf(command, 'sequence', 0),
  };
  const bytes = batchOf(command.words, producerId < 0 ? {} : producer);
  const outcome = append(story.world, bytes, optionOf(command, 'epoch', 0));
  if (outcome.error !== 0) return [`${errorName(outcome.error)}: ${outcome.message}`];
  const { baseOffset, nextOffset, duplicate } = outcome;
  const what = duplicate ? 'has it already' : 'has taken it';
  return [`the log ${what}: offset ${baseOffset}; acknowledged once ${nextOffset} is durable`];
}

function readFrom(story: Story, command: Command): string[] {
  const outcome = read(story.world, { offset: numberOf(command) });
  if (outcome.kind === 'error') return [errorName(outcome.error)];
  return [
    valuesOf(outcome)
      .map(([offset, value]) => `${offset}:${value}`)
      .join(' '),
  ];
}

function crash(story: Story, how: 'process' | 'power'): void {
  story.dice.shows = SYNCED_ONLY;
  restart(story.world, how);
  story.dice.shows = 0;
  story.paths.clear();
}

/** Changes the bytes of the newest log file, as they lie on the disk. */
function spoil({ world }: Story, change: (bytes: Uint8Array) => Uint8Array): void {
  const paths = [...world.disk.names.keys()].filter((path) => path.endsWith('.log')).sort();
  const inode = world.disk.names.get(paths.at(-1) ?? '');
  if (inode === undefined) throw new Error('there is no log file');
  inode.bytes = change(inode.bytes);
}

playAll(new URL('./log/', import.meta.url), {
  opening: 'log',
  begin,
  commands: {
    open: (story) => {
      const { log, env, out } = story.world;
      openLog(log, env, { ...FOUND, ...story.checkpoint }, out);
      return disk(story, Infinity);
    },
    append: appendOne,
    disk: (story, command) => disk(story, command.words.length === 0 ? Infinity : numberOf(command)),
    read: readFrom,
    truncate: ({ world }, command) => {
      truncateTo(world.log, world.env, numberOf(command), world.out);
      post(world);
    },
    checkpoint: (story) => {
      const { log } = story.world;
      story.checkpoint = { recoveryPoint: recoveryPoint(log), highWatermark: log.durable };
      return [`recovery point ${story.checkpoint.recoveryPoint}, high watermark ${story.checkpoint.highWatermark}`];
    },
    kill: (story) => crash(story, 'process'),
    'power-loss': (story) => crash(story, 'power'),
    tear: (story, command) => spoil(story, (bytes) => bytes.slice(0, bytes.length - numberOf(command))),
    rot: (story, command) => spoil(story, (bytes) => bytes.map((byte, at) => byte ^ Number(at === numberOf(command)))),
    'end-of-epoch': ({ world }, command) => {
      const { leaderEpoch, endOffset } = endOffsetForEpoch(world.log, numberOf(command));
      return [`epoch ${leaderEpoch} ends at ${endOffset}`];
    },
    state: (story) => [stateText(story)],
    files: ({ world }) =>
      [...world.disk.names].map(([path, { bytes }]) => `${nameOf(path)} ${bytes.length} bytes`).sort(),
  },
});
