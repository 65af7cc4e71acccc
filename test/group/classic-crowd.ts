/**
 * Clients of the classic protocol that do what clients do, one step at a time, for properties: they join, share out,
 * beat, commit, leave, crash, come back as strangers or as zombies. What each was ever assigned is remembered, by
 * generation.
 */
import { expect } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { commit, committed, join, leave, subscriptionOf, sync, textOf } from './classic.ts';
import { type Asked, advance, ask, type Coordinator, createCoordinator, failOver } from './coordinator.ts';

/** Partitions that the leader shares out. */
export const PARTITIONS = ['p0', 'p1', 'p2', 'p3', 'p4'];
/** Sessions of the crowd, ms. */
export const SESSION_MS = 6000;
/** How long the crowd has to join again, ms. */
export const REBALANCE_MS = 9000;

/** One client. */
export interface Client {
  readonly name: string;
  readonly instance: string | null;
  /** The protocols that it can do, in its order. */
  protocols: readonly string[];
  topic: string;
  memberId: string;
  generation: number;
  protocolName: string;
  /** What it was assigned in its generation; null while it has none. */
  owned: readonly string[] | null;
  /** Of its generation, if it leads. */
  members: ResponseOf<11>['members'];
  joining: Asked<11> | null;
  syncing: Asked<14> | null;
}

/** A coordinator with its clients. */
export interface Crowd {
  readonly coordinator: Coordinator;
  readonly clients: readonly Client[];
  /** Whoever was assigned a partition in a generation: an instance, or a member. */
  readonly owners: Map<string, string>;
  /** The offset that was last taken, by partition of 'orders'. */
  readonly offsets: Map<number, number>;
  offset: number;
}

/** Two dynamic and two static clients, all outside. */
export function createCrowd(): Crowd {
  const clients = ['a', 'b', 'i0', 'i1'].map((name, i) => ({
    name,
    instance: name.startsWith('i') ? name : null,
    protocols: i % 2 === 0 ? ['range', 'sticky'] : ['sticky', 'range'],
    topic: 'orders',
    memberId: '',
    generation: -1,
    protocolName: '',
    owned: null,
    members: [],
    joining: null,
    syncing: null,
  }));
  const coordinator = createCoordinator({ sizeMax: 10, initialRebalanceDelayMs: 500 });
  return { coordinator, clients, owners: new Map(), offsets: new Map(), offset: 0 };
}

/** The client forgets its generation, and its id where the error says so. */
function lose(client: Client, errorCode: number): void {
  client.generation = -1;
  client.owned = null;
  if (errorCode === ErrorCode.UNKNOWN_MEMBER_ID || errorCode === ErrorCode.FENCED_INSTANCE_ID) client.memberId = '';
}

/** The client does what it would do next. */
export function step(crowd: Crowd, client: Client): void {
  if (client.joining !== null) takeJoined(client, client.joining);
  else if (client.syncing !== null) takeSynced(crowd, client, client.syncing);
  else if (client.generation < 0) beginJoin(crowd, client);
  else if (client.owned === null) beginSync(crowd, client);
  else beatOnce(crowd, client);
}

/** JoinGroup, whatever the client was about. */
export function beginJoin(crowd: Crowd, client: Client): void {
  client.syncing = null;
  client.generation = -1;
  client.owned = null;
  client.joining = join(crowd.coordinator, {
    memberId: client.memberId,
    groupInstanceId: client.instance,
    clientId: client.name,
    sessionTimeoutMs: SESSION_MS,
    rebalanceTimeoutMs: REBALANCE_MS,
    protocols: client.protocols.map((name) => ({ name, metadata: subscriptionOf([client.topic]) })),
  });
}

function takeJoined(client: Client, { response }: Asked<11>): void {
  if (response === null) return;
  client.joining = null;
  if (response.errorCode === ErrorCode.MEMBER_ID_REQUIRED) client.memberId = response.memberId;
  if (response.errorCode !== ErrorCode.NONE) {
    lose(client, response.errorCode);
    return;
  }
  expect(response.memberId).not.toBe('');
  client.memberId = response.memberId;
  client.generation = response.generationId;
  client.protocolName = response.protocolName ?? '';
  client.owned = null;
  client.members = response.leader === response.memberId && !response.skipAssignment ? response.members : [];
}

function beginSync(crowd: Crowd, client: Client): void {
  const { members } = client;
  const shares = members.map(({ memberId }, i): [string, string] => [
    memberId,
    PARTITIONS.filter((_, at) => at % members.length === i).join(),
  ]);
  const more = { protocolName: client.protocolName, groupInstanceId: client.instance };
  client.syncing = sync(crowd.coordinator, client.generation, client.memberId, shares, more);
}

function takeSynced(crowd: Crowd, client: Client, { response }: Asked<14>): void {
  if (response === null) return;
  client.syncing = null;
  if (response.errorCode !== ErrorCode.NONE) {
    lose(client, response.errorCode);
    return;
  }
  client.owned = textOf(response.assignment).split(',').filter(Boolean);
  for (const partition of client.owned) {
    const key = `${client.generation} ${partition}`;
    const owner = client.instance ?? client.memberId;
    expect(crowd.owners.get(key) ?? owner, 'one owner of a partition in a generation').toBe(owner);
    crowd.owners.set(key, owner);
  }
}

function beatOnce(crowd: Crowd, client: Client): void {
  const { errorCode } = ask(crowd.coordinator, 12, 4, {
    groupId: 'g',
    generationId: client.generation,
    memberId: client.memberId,
    groupInstanceId: client.instance,
  });
  if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) beginJoin(crowd, client);
  else if (errorCode !== ErrorCode.NONE) lose(client, errorCode);
}

/** What happens to the crowd. */
export type Happening =
  | { readonly kind: 'step' | 'rejoin' | 'leave' | 'zombie' | 'commit' | 'operator'; readonly who: number }
  | { readonly kind: 'crash'; readonly who: number; readonly keepsId: boolean }
  | { readonly kind: 'change'; readonly who: number; readonly topic: string; readonly protocols: readonly string[] }
  | { readonly kind: 'pass'; readonly timeMs: number }
  /** Everybody goes on for a while. */
  | { readonly kind: 'round' }
  | { readonly kind: 'failOver' };

/** Lets it happen. */
export function happen(crowd: Crowd, what: Happening): void {
  const { coordinator, clients } = crowd;
  if (what.kind === 'pass') {
    advance(coordinator, what.timeMs);
    return;
  }
  if (what.kind === 'round') {
    for (let turn = 0; turn < 3; turn++) for (const client of clients) step(crowd, client);
    advance(coordinator, 300);
    return;
  }
  if (what.kind === 'failOver') {
    failOver(coordinator);
    // The host tells all who wait that another coordinates; they come again.
    for (const client of clients) {
      if (client.joining !== null || client.syncing !== null) lose(client, ErrorCode.NOT_COORDINATOR);
      client.joining = null;
      client.syncing = null;
    }
    return;
  }
  const client = clients[what.who % clients.length] ?? expect.fail();
  switch (what.kind) {
    case 'step':
      step(crowd, client);
      break;
    case 'rejoin':
      beginJoin(crowd, client);
      break;
    case 'leave':
      if (client.memberId !== '') leave(coordinator, { memberId: client.memberId, groupInstanceId: client.instance });
      forget(client, false);
      break;
    case 'operator':
      if (client.instance !== null) leave(coordinator, { memberId: '', groupInstanceId: client.instance });
      break;
    case 'crash':
      forget(client, what.keepsId);
      break;
    case 'change':
      client.topic = what.topic;
      client.protocols = what.protocols;
      break;
    case 'zombie':
      beatAsZombie(crowd, client);
      break;
    default:
      commitOnce(crowd, client);
  }
}

function forget(client: Client, keepsId: boolean): void {
  lose(client, keepsId ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID);
  client.joining = null;
  client.syncing = null;
}

/** One that slept through a generation speaks up: nobody may take it for a member of this one. */
function beatAsZombie(crowd: Crowd, { memberId, generation, instance }: Client): void {
  if (generation < 1 || memberId === '') return;
  // A coordinator that took over before the last generation was written goes on from the one before.
  const group = crowd.coordinator.state.groups.get('g');
  if (group?.kind === 'classic' && group.generation === generation - 1) return;
  const stale = { memberId, generationIdOrMemberEpoch: generation - 1, groupInstanceId: instance };
  expect(commit(crowd.coordinator, 0, 999_999, stale)).not.toBe(ErrorCode.NONE);
  const body = { groupId: 'g', generationId: generation - 1, memberId, groupInstanceId: instance };
  expect(ask(crowd.coordinator, 12, 4, body).errorCode).not.toBe(ErrorCode.NONE);
}

function commitOnce(crowd: Crowd, { memberId, generation, instance }: Client): void {
  const partition = crowd.offset % 3;
  const offset = ++crowd.offset;
  const said = { memberId, generationIdOrMemberEpoch: generation, groupInstanceId: instance };
  const errorCode = commit(crowd.coordinator, partition, offset, generation < 0 ? {} : said);
  if (errorCode === ErrorCode.NONE) crowd.offsets.set(partition, offset);
}

/** What was taken is what is fetched. */
export function checkOffsets(crowd: Crowd): void {
  for (const [partition, offset] of crowd.offsets) expect(committed(crowd.coordinator, partition)).toBe(offset);
}

/** Nothing goes wrong any more: within a bound all are in one generation, which has every partition once. */
export function settleCrowd(crowd: Crowd): void {
  const { clients, coordinator } = crowd;
  for (let round = 0; round < 60; round++) {
    if (isSettled(crowd)) return;
    // A client may answer twice before the next one does.
    for (const client of clients) step(crowd, client);
    for (const client of clients) step(crowd, client);
    advance(coordinator, 1000);
  }
  const shown = clients.map(({ name, generation, owned }) => [name, generation, owned]);
  expect.fail(`the crowd has not settled: ${JSON.stringify(shown)}`);
}

function isSettled({ clients }: Crowd): boolean {
  const generation = clients[0]?.generation ?? -1;
  if (generation < 0 || clients.some((one) => one.generation !== generation || one.owned === null)) return false;
  if (clients.some(({ joining, syncing }) => joining !== null || syncing !== null)) return false;
  const owned = clients.flatMap((one) => one.owned ?? []).sort();
  return owned.join() === PARTITIONS.join();
}
