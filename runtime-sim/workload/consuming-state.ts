/**
 * The state of a process that consumes, and how it begins; `consuming.ts` has what it does. Each life of it, and each
 * return after it has closed its consumer, is another consumer, of a protocol that is drawn anew where a group changes
 * its protocol.
 */
import type { TopicPartitions } from '../../core/assignors/client-shapes.ts';
import type { ConsumerInput, ConsumerOptions } from '../../core/client/consumer-options.ts';
import { type Consumer, createConsumer } from '../../core/client/consumer-state.ts';
import { createIds, type Ids } from '../../core/lib/ids.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import type { GroupHistory } from '../../core/verify/group-history.ts';
import type { Rest } from '../scenario.ts';
import { beginMember, type MemberNotes } from './group-notes.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** `group.protocol`. */
export type GroupProtocol = 'classic' | 'consumer';

/** What a process reads: topics that the group shares out, or partitions that it has chosen itself. */
export type Wanted =
  | { readonly topics: readonly string[] }
  | { readonly pattern: string }
  | { readonly assigned: readonly TopicPartitions[] };

/** How a consuming process behaves. */
export interface ConsumingOptions {
  readonly observer: Observer;
  readonly group: GroupHistory;
  readonly consumer: Omit<ConsumerOptions, 'ids' | 'seed' | 'memberId' | 'groupProtocol'>;
  /** Each of its consumers is of one of these. */
  readonly protocols: readonly [GroupProtocol, ...GroupProtocol[]];
  /** And its last one of this. */
  readonly lastProtocol: GroupProtocol;
  readonly to: Wanted;
  /** How it commits, beside what the consumer does by itself. */
  readonly commits: 'sync' | 'async' | 'none';
  /** Between two polls, on average. */
  readonly pollEveryMs: number;
  readonly pollBytes: number;
  /** What its listener takes at most. */
  readonly listenerMsMax: number;
  /** Between two of its own troubles, on average; Infinity for none. */
  readonly troubleEveryMs: number;
  /** How long a process stands still at most: beyond its session. */
  readonly frozenMsMax: number;
  /** After so long without a word a member of the consumer protocol is given up; of the other one it says so itself. */
  readonly sessionMs: number;
  /** Two processes have its instance id. */
  readonly hasTwin: boolean;
  /** It goes for good when it is asked to stop. */
  readonly isPassing: boolean;
  /** And without a word. */
  readonly isVanishing: boolean;
  /** When all members of its group are away together; from `restsFromUs` of the world on those times count. */
  readonly rests: readonly Rest[];
  readonly restsFromUs: number;
}

/** What a listener was told and has not called off. */
export interface Owed {
  readonly rebalance: number;
  atMs: number;
  /** It commits first, and waits for that; 0 for no more. */
  ticket: number;
}

/** Its state. */
export interface Consuming {
  readonly options: ConsumingOptions;
  /** Of one life of the process. */
  ids: Ids;
  protocol: GroupProtocol;
  consumer: Consumer;
  dice: Jitter;
  notes: MemberNotes;
  nextPollMs: number;
  nextTroubleMs: number;
  nextLookupMs: number;
  /** When it comes back, having left; Infinity while it has not. */
  backAtMs: number;
  isBack: 'subscribe' | 'anew';
  /** Until then its process stands still, and what it hears waits. */
  frozenUntilMs: number;
  /** It stands still for good. */
  isGone: boolean;
  /** It stands still beyond its session, and commits before it hears of anything. */
  isZombie: boolean;
  readonly inbox: ConsumerInput[];
  owed: Owed | null;
  /** Questions for committed offsets, with when they were asked. */
  readonly lookups: Map<number, number>;
  isStopped: boolean;
  /** When it goes for good; Infinity for never. */
  passAtMs: number;
  /** Which rest comes next, and when; Infinity for none. */
  readonly resting: { next: number; atMs: number };
}

const NEVER = Number.POSITIVE_INFINITY;
/** What it takes at most to leave. */
export const CLOSE_MS = 2_000;
/** A zombie comes back at the latest so long after its session is over. */
export const ZOMBIE_MS_MAX = 3_000;

/** A process that has not been started. */
export function createConsuming(options: ConsumingOptions): Consuming {
  const ids = createIds();
  const [protocol] = options.protocols;
  return {
    options,
    ids,
    protocol,
    consumer: newConsumer(options, protocol, ids, 1),
    dice: createJitter(1),
    notes: beginMember(options.observer, options.group, options.consumer.instanceId ?? null),
    nextPollMs: NEVER,
    nextTroubleMs: NEVER,
    nextLookupMs: NEVER,
    backAtMs: NEVER,
    isBack: 'subscribe',
    frozenUntilMs: 0,
    isGone: false,
    isZombie: false,
    inbox: [],
    owed: null,
    lookups: new Map(),
    isStopped: false,
    passAtMs: NEVER,
    resting: { next: 0, atMs: NEVER },
  };
}

/** Another consumer in the place of the one there was, of one of the protocols that the process may speak. */
export function renew(state: Consuming, seed: number): void {
  const { options, dice, protocol: before } = state;
  const { protocols, observer } = options;
  const drawn = protocols[jitter(dice, protocols.length)] ?? before;
  state.protocol = state.isStopped ? options.lastProtocol : drawn;
  if (state.protocol !== before) observer.reached(`sim.consumer.turned_${state.protocol}`);
  state.consumer = newConsumer(options, state.protocol, state.ids, seed);
}

function newConsumer({ consumer }: ConsumingOptions, groupProtocol: GroupProtocol, ids: Ids, seed: number): Consumer {
  const dice = createJitter(seed);
  const bytes = Uint8Array.from({ length: 16 }, () => jitter(dice, 256));
  return createConsumer({ ...consumer, groupProtocol, ids, seed, memberId: uuidFromBytes(bytes, 0) });
}

/** After how long the coordinator gives it up, ms, if it says nothing. */
export function sessionMsOf({ options, protocol }: Consuming): number {
  return protocol === 'classic' ? (options.consumer.sessionTimeoutMs ?? 0) : options.sessionMs;
}

/** How long it stands still: half of the time beyond what others wait in a rebalance, within its session if may be. */
export function frozenMs(state: Consuming): number {
  const { dice, options } = state;
  const waitedMs = options.consumer.maxPollIntervalMs ?? 0;
  const missingMs = sessionMsOf(state) - waitedMs;
  return missingMs > 0 && jitter(dice, 2) === 0
    ? waitedMs + jitter(dice, missingMs)
    : jitter(dice, options.frozenMsMax);
}
