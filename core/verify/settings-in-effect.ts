/**
 * Judges whether the settings of topics act: a batch that was sent while a setting was certainly in force, and
 * certainly no other one, bears its mark. Two settings leave marks that a reader sees: who stamps records, and how the
 * log compresses them.
 *
 * A setting is certain from the answer that acknowledged it until somebody begins to do what may change it, deaths of
 * the node in between or not. What nobody answered may act until it can be carried out no more.
 */
import { ErrorCode } from '../protocol/errors.ts';
import { expiryUs, heardUs, type TopicAction, type TopicOperation } from './administration.ts';
import type { Facts, Violation } from './checkers.ts';
import { type History, partitionText, report } from './history.ts';

/** A setting and the mark that a batch bears under it; null where any will do. Attributes are Kafka's, of a batch. */
interface Marked {
  readonly name: string;
  readonly fits: (value: string | null, attributes: number) => boolean;
}

const CODEC_MASK = 7;
const GZIP = 1;
const STAMPED = 8;

const MARKED: readonly Marked[] = [
  {
    name: 'message.timestamp.type',
    fits: (value, attributes) => ((attributes & STAMPED) !== 0) === (value === 'LogAppendTime'),
  },
  {
    name: 'compression.type',
    fits: (value, attributes) => {
      if (value === 'gzip') return (attributes & CODEC_MASK) === GZIP;
      return value !== 'uncompressed' || (attributes & CODEC_MASK) === 0;
    },
  },
];

/** From when until when a setting is certain. */
interface Window {
  readonly fromUs: number;
  readonly toUs: number;
  /** Null: its default. */
  readonly value: string | null;
}

/** Promise 1 for settings: what was acknowledged acts. */
export function findIdleSettings({ history, sendOf }: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions, partitions } = history;
  const windows = new Map<string, Window[]>();
  const windowsOf = (topic: string, setting: string): Window[] => {
    const key = `${topic} ${setting}`;
    const known = windows.get(key) ?? certainWindows(history, topic, setting);
    windows.set(key, known);
    return known;
  };
  for (let i = 0; i < reads.session.length; i++) {
    const partition = sessions[reads.session[i] as number]?.partition ?? -1;
    const named = partitions[partition];
    const send = sendOf.get(reads.value[i] as number);
    const attributes = reads.attributes[i] as number;
    if (named?.slot === undefined || send?.outcome !== 'acknowledged' || attributes < 0) continue;
    // Nobody says when one without an answer was appended: the network may have held it back.
    if (send.acks === 0) continue;
    const { sentUs, doneUs, value } = send;
    for (const { name, fits } of MARKED) {
      // Who leads may hear of the setting later than whoever acknowledged it.
      const knownUs = heardUs(history, sentUs);
      const window = windowsOf(named.topic, name).find(({ fromUs, toUs }) => fromUs < knownUs && doneUs < toUs);
      if (window === undefined || fits(window.value, attributes)) continue;
      const where = `${partitionText(history, partition)}@${reads.offset[i]}`;
      const setting = `${name}=${window.value ?? 'its default'}`;
      const bears = `its batch has attributes ${attributes}`;
      const sentence = `value ${value} at ${where} was sent under ${setting}, and ${bears}`;
      report(found, 'idle-setting', 1, partition, sentence);
    }
  }
  return found;
}

/** When the operation, or an attempt of it, may act on the setting; null if it certainly does not. */
function actsUntilUs(history: History, { startUs, doneUs, answer, unsureAttempts }: TopicOperation): number | null {
  if (doneUs < 0) return Number.POSITIVE_INFINITY;
  if (unsureAttempts > 0) return Math.max(doneUs, expiryUs(history, startUs, doneUs));
  return answer?.error === ErrorCode.NONE ? doneUs : null;
}

/** The value that an action gives to a setting, null for its default; undefined where it leaves it alone. */
function textFor(action: TopicAction, setting: string): string | null | undefined {
  if (action.kind === 'create') return action.configs.find(([name]) => name === setting)?.[1] ?? null;
  if (action.kind === 'delete') return null;
  if (action.kind !== 'alter') return undefined;
  const change = action.changes.find(([name]) => name === setting);
  return change === undefined ? undefined : change[1];
}

function certainWindows(history: History, topic: string, setting: string): Window[] {
  const acts = history.operations.flatMap((operation) => {
    const value = operation.topic === topic ? textFor(operation.action, setting) : undefined;
    const endUs = value === undefined ? null : actsUntilUs(history, operation);
    return value === undefined || endUs === null ? [] : [{ operation, value, startUs: operation.startUs, endUs }];
  });
  return acts.flatMap(({ operation, value, startUs, endUs }): Window[] => {
    const { action, answer, unsureAttempts } = operation;
    if (action.kind === 'delete' || unsureAttempts > 0 || answer?.error !== ErrorCode.NONE) return [];
    let toUs = Number.POSITIVE_INFINITY;
    for (const other of acts) {
      if (other.operation === operation || other.endUs < startUs) continue;
      if (other.startUs <= endUs) return [];
      toUs = Math.min(toUs, other.startUs);
    }
    return [{ fromUs: endUs, toUs, value }];
  });
}
