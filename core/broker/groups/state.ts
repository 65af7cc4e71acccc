/**
 * What a node remembers of groups: the coordinators that it hosts, one for each partition of `__consumer_offsets` that
 * it leads, and the clients that wait for them. The behaviour is in the files beside this one.
 *
 * Invariants: a host that is not gone is its partition's `host` and in `Groups.hosts`; what waits in `awaiting` is what
 * waits in the coordinator's own queue, in the same order. A crash forgets all of it: the log holds what is committed.
 */
import type { Coordinator } from '../../coordination/coordinator.ts';
import type { ClientCallKind, GroupAnswer, GroupAnswerBodies, GroupCallOf, GroupShapes } from '../../group/shapes.ts';
import type { Timed } from '../../lib/heap.ts';
import { type Ids, nextOwner } from '../../lib/ids.ts';
import { createQueue, type Queue } from '../../lib/queue.ts';
import type { FindCoordinatorRequest } from '../../protocol/messages/10-find-coordinator.ts';
import type { Partition, Request } from '../state.ts';
import type { Portion } from './unpack.ts';

/** A call of a client. */
export type ClientCall = GroupCallOf<ClientCallKind>;
/** The body that answers a call. */
export type AnswerBody = GroupAnswerBodies[ClientCallKind];

/** A request of a client, which is one call or several: it is answered when the last of them is. */
export interface Gather {
  readonly request: Request;
  readonly kind: ClientCallKind;
  /** The first of its calls; null where it asks for nothing. */
  readonly first: ClientCall | null;
  /** It asks which operations are allowed. */
  readonly wantsOperations: boolean;
  /** The answers so far, in the order of the request. */
  readonly bodies: AnswerBody[];
  /** Calls that have no answer yet. */
  remaining: number;
  /** Who works on them. */
  readonly at: { readonly host: GroupHost; readonly waiter: number }[];
  /** What it holds in memory while it waits for others, charged to `Groups.waitingBytes`. */
  waitingBytes: number;
}

/** A call that has no answer yet. */
export interface Waiting {
  readonly gather: Gather;
  /** Its place in `Gather.bodies`. */
  readonly slot: number;
  readonly call: ClientCall;
}

/** Answers that wait for their records to be committed. */
export interface Awaiting {
  /** Beyond this nobody waits for them any more, `env.nowMs`. */
  readonly untilMs: number;
  answers: readonly GroupAnswer[];
}

/** How far a host has come with reading its partition. */
export interface Load {
  /** What is read next. */
  next: number;
  /** Where the log ended when this node began to lead: up to there it is read. */
  readonly end: number;
  /** Of the read under way; 0 for none. */
  ticket: number;
  /** What was read and not taken in yet; null: nothing. */
  portion: Portion | null;
  readonly startedMs: number;
  recordsCount: number;
  /** It counts in `Groups.loadingCount`. */
  hasTurn: boolean;
  /** Records that the next step takes in; ascends. */
  pace: number;
}

/** The coordinator of the groups in one partition. */
export interface GroupHost extends Timed {
  readonly kind: 'groupHost';
  readonly partition: Partition;
  readonly coordinator: Coordinator<GroupShapes, Awaiting>;
  /** failed: its log cannot be read. gone: another host, or node, has taken its place. */
  stage: 'loading' | 'active' | 'failed' | 'gone';
  /** While loading. */
  load: Load | null;
  /** Whoever has no answer yet, by number. */
  readonly waiters: Map<number, Waiting>;
  readonly awaiting: Queue<Awaiting>;
  /** How many of them, from the front, were given up. */
  overCount: number;
  /** Topics that went and that its machine was not told of; null for too many. */
  deletedTopics: DeletedTopic[] | null;
  /** It does nothing by itself before this, `env.nowMs`. */
  notBeforeMs: number;
  /** How far its groups were checked, where they are too many for one check. */
  checkedTo: number;
}

/** A topic that is gone. */
export interface DeletedTopic {
  readonly name: string;
  readonly id: string;
}

/** A FindCoordinator that waits for the topic of groups to be made. */
export interface FindWait {
  readonly request: Request;
  readonly body: FindCoordinatorRequest;
}

/** A call that waits for entropy. */
export interface Undrawn {
  readonly waiting: Waiting;
  readonly groupId: string;
}

/** The state. */
export interface Groups extends Timed {
  readonly kind: 'groups';
  readonly owner: number;
  readonly hosts: Set<GroupHost>;
  /** Hosts that read now, and those whose turn will come. */
  loadingCount: number;
  readonly loadQueue: Queue<GroupHost>;
  lastWaiter: number;
  /** Calls that have no answer, of all hosts. */
  waitersCount: number;
  /** Bytes of requests that wait for other members, of all hosts. */
  waitingBytes: number;
  /** Uuids that were drawn and not used, and the ticket of the next ones; 0: nothing was asked for. */
  readonly uuids: string[];
  drawTicket: number;
  readonly undrawn: Undrawn[];
  /** Requests that wait for the topic to be made; it is being made while there are any, or `isCreating`. */
  finding: FindWait[];
  isCreating: boolean;
  /** No FindWait waits longer, `env.nowMs`. */
  findUntilMs: number;
}

/** No groups. */
export function createGroups(ids: Ids): Groups {
  return {
    kind: 'groups',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner: nextOwner(ids),
    hosts: new Set(),
    loadingCount: 0,
    loadQueue: createQueue(),
    lastWaiter: 0,
    waitersCount: 0,
    waitingBytes: 0,
    uuids: [],
    drawTicket: 0,
    undrawn: [],
    finding: [],
    isCreating: false,
    findUntilMs: Number.POSITIVE_INFINITY,
  };
}
