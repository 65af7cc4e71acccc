/** The brokers and controllers of an image in the making. Both maps are small and copied whole at the first write. */
import type { BrokerImage, ClusterImage, ControllerImage } from './image.ts';
import type { RecordValue } from './records.ts';

/** The nodes in the making. */
export interface ClusterDraft {
  readonly base: ClusterImage;
  brokers: Map<number, BrokerImage> | null;
  controllers: Map<number, ControllerImage> | null;
  readonly touchedBrokers: Set<number>;
  readonly touchedControllers: Set<number>;
}

/** Begins; costs nothing. */
export function draftCluster(base: ClusterImage): ClusterDraft {
  return { base, brokers: null, controllers: null, touchedBrokers: new Set(), touchedControllers: new Set() };
}

function ownBrokers(draft: ClusterDraft, id: number): Map<number, BrokerImage> {
  draft.brokers ??= new Map(draft.base.brokers);
  draft.touchedBrokers.add(id);
  return draft.brokers;
}

function ownControllers(draft: ClusterDraft, id: number): Map<number, ControllerImage> {
  draft.controllers ??= new Map(draft.base.controllers);
  draft.touchedControllers.add(id);
  return draft.controllers;
}

/** Replays a RegisterBrokerRecord. */
export function registerBroker(draft: ClusterDraft, record: RecordValue<'RegisterBrokerRecord'>): string | null {
  if (record.isMigratingZkBroker) return `Broker ${record.brokerId} registers as a broker of ZooKeeper's time.`;
  ownBrokers(draft, record.brokerId).set(record.brokerId, {
    id: record.brokerId,
    epoch: record.brokerEpoch,
    incarnationId: record.incarnationId,
    endPoints: record.endPoints,
    features: record.features,
    rack: record.rack,
    fenced: record.fenced,
    inControlledShutdown: record.inControlledShutdown,
    logDirs: record.logDirs,
    cordonedLogDirs: record.cordonedLogDirs,
  });
  return null;
}

/** The broker of this life, or a sentence. */
function brokerOf(draft: ClusterDraft, id: number, epoch: number): BrokerImage | string {
  const broker = (draft.brokers ?? draft.base.brokers).get(id);
  if (broker === undefined) return `Broker ${id} is changed, but not registered.`;
  if (broker.epoch === epoch) return broker;
  return `Broker ${id} is changed in epoch ${epoch}, but registered in epoch ${broker.epoch}.`;
}

/** Replays an UnregisterBrokerRecord. */
export function unregisterBroker(draft: ClusterDraft, id: number, epoch: number): string | null {
  const broker = brokerOf(draft, id, epoch);
  if (typeof broker === 'string') return broker;
  ownBrokers(draft, id).delete(id);
  return null;
}

/** Replays a FenceBrokerRecord or an UnfenceBrokerRecord. */
export function fenceBroker(draft: ClusterDraft, id: number, epoch: number, fenced: boolean): string | null {
  const broker = brokerOf(draft, id, epoch);
  if (typeof broker === 'string') return broker;
  ownBrokers(draft, id).set(id, { ...broker, fenced });
  return null;
}

/** Replays a BrokerRegistrationChangeRecord. */
export function applyRegistrationChange(
  draft: ClusterDraft,
  record: RecordValue<'BrokerRegistrationChangeRecord'>,
): string | null {
  const id = record.brokerId;
  const broker = brokerOf(draft, id, record.brokerEpoch);
  if (typeof broker === 'string') return broker;
  ownBrokers(draft, id).set(id, {
    ...broker,
    fenced: record.fenced === 0 ? broker.fenced : record.fenced === 1,
    inControlledShutdown: broker.inControlledShutdown || record.inControlledShutdown === 1,
    logDirs: record.logDirs.length === 0 ? broker.logDirs : record.logDirs,
    cordonedLogDirs: record.cordonedLogDirs ?? broker.cordonedLogDirs,
  });
  return null;
}

/** Replays a RegisterControllerRecord. */
export function registerController(
  draft: ClusterDraft,
  record: RecordValue<'RegisterControllerRecord'>,
): string | null {
  const { controllerId: id, incarnationId, endPoints, features } = record;
  ownControllers(draft, id).set(id, { id, incarnationId, endPoints, features });
  return null;
}

/** Replays an UnregisterControllerRecord. */
export function unregisterController(draft: ClusterDraft, id: number): string | null {
  if (!(draft.controllers ?? draft.base.controllers).has(id)) return `Controller ${id} leaves, but is not registered.`;
  ownControllers(draft, id).delete(id);
  return null;
}

/** Ends the draft of the nodes: the same object if nothing was written. */
export function publishCluster(draft: ClusterDraft): ClusterImage {
  if (draft.brokers === null && draft.controllers === null) return draft.base;
  return {
    brokers: draft.brokers ?? draft.base.brokers,
    controllers: draft.controllers ?? draft.base.controllers,
  };
}
