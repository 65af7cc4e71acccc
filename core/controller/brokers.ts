/**
 * Brokers: registration, heartbeats, fencing and unfencing, controlled shutdown; registration of controllers.
 *
 * A broker registers fenced and gets the offset of its registration as the epoch of this life. It is unfenced when its
 * heartbeat shows that it has applied the log up to there. It is fenced when it asks, when it has been silent for a
 * session, or when the node that hosts this controller knows that it is dead (`fenceBroker`; always safe, because
 * every epoch of its partitions grows). Before it shuts down it gives away what it leads.
 */

import { DirectoryId } from '../metadata/describe-topics.ts';
import {
  isElrEnabled,
  METADATA_VERSION,
  metadataLevel,
  recordsDirectories,
  registersControllers,
} from '../metadata/features.ts';
import type { BrokerImage, MetadataImage } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { brokerRecord } from '../metadata/snapshot.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { addOfflineDirectories } from './directories.ts';
import { addPartitionChanges, leadsAny } from './elections.ts';
import { type Context, type Controller, freshSession, type Handled } from './state.ts';

const CORDONS_SINCE = 30;
const RESERVED: readonly string[] = Object.values(DirectoryId);

/** BrokerRegistration. The node that called must have the answer before it may serve anyone. */
export function registerBroker(
  controller: Controller,
  context: Context,
  request: RequestOf<62>,
): Handled<ResponseInputOf<62>> {
  const { image } = controller;
  const errorCode = registrationProblem(controller, context, request);
  if (errorCode !== ErrorCode.NONE) return refused({ throttleTimeMs: 0, errorCode, brokerEpoch: -1 });
  const existing = image.cluster.brokers.get(request.brokerId);
  const isSameLife = existing !== undefined && existing.incarnationId === request.incarnationId;
  const records: MetadataRecord[] = [];
  if (existing !== undefined && !isSameLife) endLife(controller, existing, request.previousBrokerEpoch, records);
  // The registration comes last, and its own offset is the epoch of the new life.
  const epoch = isSameLife ? existing.epoch : context.nextOffset + records.length;
  const broker: BrokerImage = {
    id: request.brokerId,
    epoch,
    incarnationId: request.incarnationId,
    endPoints: request.listeners,
    features: request.features,
    rack: request.rack,
    fenced: isSameLife ? existing.fenced : true,
    inControlledShutdown: isSameLife && existing.inControlledShutdown,
    logDirs: recordsDirectories(metadataLevel(image)) ? request.logDirs : [],
    cordonedLogDirs: isSameLife ? existing.cordonedLogDirs : null,
  };
  records.push(brokerRecord(broker, metadataLevel(image)));
  if (!isSameLife) controller.sessions.delete(request.brokerId);
  // The changes may be more than one batch holds: without a leader, partitions only wait for the registration.
  return { records, response: { throttleTimeMs: 0, errorCode, brokerEpoch: epoch }, isAtomic: false };
}

/** What becomes of the partitions of a broker whose earlier life is over. */
function endLife(
  controller: Controller,
  existing: BrokerImage,
  previousEpoch: number,
  records: MetadataRecord[],
): void {
  const isClean = existing.epoch === previousEpoch;
  const isHarmless = isClean || !isElrEnabled(controller.image);
  const { id } = existing;
  addPartitionChanges(
    controller,
    isHarmless ? { leaving: id, joining: -1, unclean: -1 } : { leaving: -1, joining: -1, unclean: id },
    records,
  );
}

function registrationProblem(controller: Controller, context: Context, request: RequestOf<62>): number {
  const { image, config } = controller;
  if (request.clusterId !== config.clusterId) return ErrorCode.INCONSISTENT_CLUSTER_ID;
  const existing = image.cluster.brokers.get(request.brokerId);
  if (existing !== undefined && existing.incarnationId !== request.incarnationId) {
    const isOver = hasLeft(controller, existing, request);
    const isThere = !isOver && hasSession(controller, request.brokerId, context.nowMs);
    if (isThere) return ErrorCode.DUPLICATE_BROKER_REGISTRATION;
  }
  if (request.isMigratingZkBroker) return ErrorCode.BROKER_ID_NOT_REGISTERED;
  if (recordsDirectories(metadataLevel(image)) && !areDirectoriesFree(image, request)) {
    return ErrorCode.INVALID_REGISTRATION;
  }
  return supportsAll(image, request) ? ErrorCode.NONE : ErrorCode.UNSUPPORTED_VERSION;
}

/**
 * Whether the earlier life of a broker is over before its session is: its connection has ended, and the newcomer has
 * the log directories that a living process keeps locked.
 */
function hasLeft(controller: Controller, existing: BrokerImage, { logDirs }: RequestOf<62>): boolean {
  const isCut = controller.sessions.get(existing.id)?.isCut ?? false;
  return isCut && logDirs.length > 0 && logDirs.every((dir) => existing.logDirs.includes(dir));
}

/** Whether an unfenced broker has been heard of within a session. */
function hasSession(controller: Controller, id: number, nowMs: number): boolean {
  const session = controller.sessions.get(id);
  const isFenced = controller.image.cluster.brokers.get(id)?.fenced ?? true;
  return session !== undefined && !isFenced && nowMs - session.heardMs < controller.config.sessionTimeoutMs;
}

function areDirectoriesFree(image: MetadataImage, { brokerId, logDirs }: RequestOf<62>): boolean {
  if (logDirs.length === 0 || new Set(logDirs).size !== logDirs.length) return false;
  if (logDirs.some((dir) => RESERVED.includes(dir))) return false;
  for (const broker of image.cluster.brokers.values()) {
    if (broker.id !== brokerId && broker.logDirs.some((dir) => logDirs.includes(dir))) return false;
  }
  return true;
}

/** Whether a node supports every level that the cluster has finalized. */
function supportsAll(image: MetadataImage, { features }: Pick<RequestOf<62>, 'features'>): boolean {
  for (const [name, level] of image.features) {
    const feature = features.find((found) => found.name === name);
    const min = feature?.minSupportedVersion ?? (name === METADATA_VERSION ? 1 : 0);
    const max = feature?.maxSupportedVersion ?? (name === METADATA_VERSION ? 1 : 0);
    if (level < min || level > max) return false;
  }
  return true;
}

type State = 'fenced' | 'unfenced' | 'shuttingDown' | 'shutDown';

function stateOf(broker: BrokerImage): State {
  if (broker.fenced) return 'fenced';
  return broker.inControlledShutdown ? 'shuttingDown' : 'unfenced';
}

/** BrokerHeartbeat. */
export function heartbeat(
  controller: Controller,
  context: Context,
  request: RequestOf<63>,
): Handled<ResponseInputOf<63>> {
  const broker = controller.image.cluster.brokers.get(request.brokerId);
  if (broker === undefined || broker.epoch !== request.brokerEpoch) {
    return refused({ throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, shouldShutDown: false });
  }
  const session = controller.sessions.get(broker.id) ?? freshSession(context.nowMs);
  controller.sessions.set(broker.id, session);
  session.heardMs = context.nowMs;
  session.isCut = false;
  session.metadataOffset = Math.max(session.metadataOffset, request.currentMetadataOffset);
  const isCaughtUp = request.currentMetadataOffset >= broker.epoch;
  const state = stateOf(broker);
  const records: MetadataRecord[] = [];
  // Directories that failed come first: what the broker is to be follows from the next heartbeat.
  const isNews = addOfflineDirectories(controller, broker, request.offlineLogDirs, records);
  const after = isNews ? state : nextState(controller, context, broker, request, isCaughtUp);
  if (after !== state) enter(controller, context, broker, after, records);
  addCordons(controller, broker, request, records);
  const isFenced = after === 'fenced' || after === 'shutDown';
  const shouldShutDown = after === 'shutDown';
  const response = { throttleTimeMs: 0, errorCode: ErrorCode.NONE, isCaughtUp, isFenced, shouldShutDown };
  return { records, response, isAtomic: false };
}

function nextState(
  controller: Controller,
  context: Context,
  broker: BrokerImage,
  request: RequestOf<63>,
  isCaughtUp: boolean,
): State {
  const state = stateOf(broker);
  switch (state) {
    case 'fenced':
      if (request.wantShutDown) return 'shutDown';
      return !request.wantFence && isCaughtUp ? 'unfenced' : 'fenced';
    case 'unfenced':
      if (request.wantFence) return request.wantShutDown ? 'shutDown' : 'fenced';
      if (!request.wantShutDown) return 'unfenced';
      return leadsAny(controller.image, broker.id) ? 'shuttingDown' : 'shutDown';
    default: {
      if (leadsAny(controller.image, broker.id)) return 'shuttingDown';
      const session = controller.sessions.get(broker.id) ?? freshSession(context.nowMs);
      // Another controller began this: what it wrote is below the end.
      if (session.shutdownOffset < 0) session.shutdownOffset = context.nextOffset - 1;
      // It goes when every broker that takes part has learnt who leads in its place.
      return session.shutdownOffset <= lowestOffset(controller, broker.id) ? 'shutDown' : 'shuttingDown';
    }
  }
}

/** Up to where every broker that takes part, `id` aside, has applied the log; Infinity if there is none. */
export function lowestOffset(controller: Controller, id: number): number {
  let lowest = Infinity;
  for (const broker of controller.image.cluster.brokers.values()) {
    if (broker.id === id || broker.fenced || broker.inControlledShutdown) continue;
    lowest = Math.min(lowest, controller.sessions.get(broker.id)?.metadataOffset ?? -1);
  }
  return lowest;
}

function enter(
  controller: Controller,
  context: Context,
  broker: BrokerImage,
  state: State,
  records: MetadataRecord[],
): void {
  const { id } = broker;
  switch (state) {
    case 'fenced':
    case 'shutDown':
      if (!broker.fenced) addFencing(controller, broker, records);
      break;
    case 'unfenced':
      records.push(registrationChange(broker, 0, { fenced: -1 }));
      addPartitionChanges(controller, { leaving: -1, joining: id, unclean: -1 }, records);
      break;
    case 'shuttingDown': {
      records.push(registrationChange(broker, 1, { inControlledShutdown: 1 }));
      addPartitionChanges(controller, { leaving: id, joining: -1, unclean: -1 }, records);
      const session = controller.sessions.get(id);
      if (session !== undefined) session.shutdownOffset = context.nextOffset + records.length - 1;
    }
  }
}

function registrationChange(
  broker: BrokerImage,
  version: number,
  change: { fenced?: number; inControlledShutdown?: number; cordonedLogDirs?: readonly string[] },
): MetadataRecord {
  const head = { brokerId: broker.id, brokerEpoch: broker.epoch };
  return metadataRecord('BrokerRegistrationChangeRecord', version, { ...head, ...change });
}

/** The partitions first, then the broker: a reader in between sees a broker that leads nothing. */
function addFencing(controller: Controller, broker: BrokerImage, records: MetadataRecord[]): void {
  addPartitionChanges(controller, { leaving: broker.id, joining: -1, unclean: -1 }, records);
  records.push(registrationChange(broker, 0, { fenced: 1 }));
}

function addCordons(
  controller: Controller,
  broker: BrokerImage,
  request: RequestOf<63>,
  records: MetadataRecord[],
): void {
  const cordoned = request.cordonedLogDirs;
  if (cordoned === null || metadataLevel(controller.image) < CORDONS_SINCE) return;
  const known = broker.cordonedLogDirs;
  if (known !== null && known.length === cordoned.length && known.every((dir) => cordoned.includes(dir))) return;
  records.push(registrationChange(broker, 3, { cordonedLogDirs: cordoned }));
}

/**
 * The records that fence a broker; none if it is fenced, unknown, or in another life than `epoch` says, which is -1 for
 * any. They may be in several batches.
 */
export function fenceBroker(controller: Controller, id: number, epoch = -1): readonly MetadataRecord[] {
  const broker = controller.image.cluster.brokers.get(id);
  if (broker === undefined || broker.fenced || (epoch >= 0 && broker.epoch !== epoch)) return [];
  const records: MetadataRecord[] = [];
  addFencing(controller, broker, records);
  return records;
}

/** The first broker whose session has ended by `nowMs`, or -1. Fence it, then ask again. */
export function expiredBroker(controller: Controller, nowMs: number): number {
  for (const [id, session] of controller.sessions) {
    const isFenced = controller.image.cluster.brokers.get(id)?.fenced ?? true;
    if (!isFenced && nowMs - session.heardMs >= controller.config.sessionTimeoutMs) return id;
  }
  return -1;
}

/** When the next session ends, monotonic ms; Infinity if none runs. */
export function controllerDeadlineMs(controller: Controller): number {
  let deadlineMs = Infinity;
  for (const [id, session] of controller.sessions) {
    const isFenced = controller.image.cluster.brokers.get(id)?.fenced ?? true;
    if (!isFenced) deadlineMs = Math.min(deadlineMs, session.heardMs + controller.config.sessionTimeoutMs);
  }
  return deadlineMs;
}

/** ControllerRegistration. */
export function registerController(
  controller: Controller,
  _context: Context,
  request: RequestOf<70>,
): Handled<ResponseInputOf<70>> {
  const { controllerId, incarnationId, listeners: endPoints, features } = request;
  if (!registersControllers(metadataLevel(controller.image))) {
    const errorMessage = 'The current MetadataVersion is too old to support controller registrations.';
    return refused({ throttleTimeMs: 0, errorCode: ErrorCode.UNSUPPORTED_VERSION, errorMessage });
  }
  if (!supportsAll(controller.image, request)) {
    const errorMessage = 'The controller does not support the finalized features.';
    return refused({ throttleTimeMs: 0, errorCode: ErrorCode.UNSUPPORTED_VERSION, errorMessage });
  }
  const value = { controllerId, incarnationId, zkMigrationReady: false, endPoints, features };
  const records = [metadataRecord('RegisterControllerRecord', 0, value)];
  return { records, response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null }, isAtomic: true };
}

function refused<R>(response: R): Handled<R> {
  return { records: [], response, isAtomic: true };
}
