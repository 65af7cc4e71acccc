/**
 * The controller as a machine for coordination: loading by the metadata loader, deciding by handlers, replay into the
 * image. Its view is the image, so that whoever follows the committed log has the very objects that the controller
 * has.
 */
import type { ActivateContext, Activation, Decision, HandleContext, Machine, Place } from '../coordination/machine.ts';
import { applyRecord, draftImage, type MetadataDelta, type MetadataDraft, publishDraft } from '../metadata/draft.ts';
import { bootstrapRecords, unservedFeatures } from '../metadata/features.ts';
import type { MetadataImage, Provenance } from '../metadata/image.ts';
import { createLoader, type Loader, loadBatch } from '../metadata/loader.ts';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataRecord,
  metadataRecord,
} from '../metadata/records.ts';
import { isSameImage } from '../metadata/same-image.ts';
import { imageFromRecords, snapshotSlice } from '../metadata/snapshot.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { fenceBroker } from './brokers.ts';
import { balance, type Duty, electUncleanly } from './duties.ts';
import { type ControllerKey, handle } from './handle.ts';
import { type Controller, type ControllerConfig, createController, replayRecords } from './state.ts';

/** What the controller is asked: a request of its API, with as many fresh uuids as `idsNeeded` says, or a duty. */
export type ControllerRequest =
  | {
      readonly kind: 'api';
      readonly apiKey: ControllerKey;
      readonly version: number;
      readonly body: RequestOf<ControllerKey>;
      readonly ids: string[];
    }
  | Duty;

/** A request of the controller's API, its body that of its key. */
export function controllerRequest<K extends ControllerKey>(
  apiKey: K,
  version: number,
  body: RequestOf<K>,
  ids: string[],
): ControllerRequest {
  return { kind: 'api', apiKey, version, body: body as RequestOf<ControllerKey>, ids };
}

/** What is built while the log is read. */
export interface ControllerLoading {
  readonly loader: Loader;
  /** All pieces of a snapshot so far: it is one image, however it was cut. */
  snapshot: MetadataDraft | null;
}

/** The types of the controller's machine. */
export interface ControllerShapes {
  readonly config: ControllerConfig;
  readonly state: Controller;
  readonly loading: ControllerLoading;
  readonly request: ControllerRequest;
  readonly record: MetadataRecord;
  readonly entry: Uint8Array;
  readonly response: ResponseInputOf<ControllerKey> | null;
  readonly change: MetadataDelta;
  readonly view: MetadataImage;
}

/** The controller, for coordination. */
export const CONTROLLER: Machine<ControllerShapes> = {
  beginLoad: () => ({ loader: createLoader(), snapshot: null }),
  load: loadRecords,
  loaded: ({ loader, snapshot }) => (snapshot === null && loader.transaction === null ? loader.image : null),
  resume: (image) => ({ loader: createLoader(image), snapshot: null }),
  activate,
  handle: decide,
  replay: (controller, records, place) => replayRecords(controller, records, provenanceOf(place)),
  encode: encodeMetadataRecord,
  decode: decodeMetadataProblem,
  view: (controller) => controller.image,
  snapshot: snapshotSlice,
  isEqual: isSameImage,
};

function provenanceOf({ nextOffset, leaderEpoch, timestampMs }: Place): Provenance {
  return { offset: nextOffset - 1, epoch: leaderEpoch, timestampMs };
}

function loadRecords(
  loading: ControllerLoading,
  records: Iterable<MetadataRecord>,
  place: Place,
  isPartial: boolean,
): readonly MetadataDelta[] | string {
  const { loader } = loading;
  if (!isPartial && loading.snapshot === null) {
    const loaded = loadBatch(loader, records, provenanceOf(place));
    return 'problem' in loaded ? loaded.problem : loaded.deltas;
  }
  loading.snapshot ??= draftImage(loader.image, loader.pool);
  for (const record of records) {
    const problem = applyRecord(loading.snapshot, record);
    if (problem !== null) return problem;
  }
  if (isPartial) return [];
  const delta = publishDraft(loading.snapshot, provenanceOf(place));
  if (typeof delta === 'string') return delta;
  loader.image = delta.after;
  loading.snapshot = null;
  return [delta];
}

function activate(
  { loader }: ControllerLoading,
  context: ActivateContext<ControllerShapes>,
): Activation<ControllerShapes> | string {
  const { config, seed, nowMs, isNew, bootstrap } = context;
  const first = isNew ? firstRecords(config, bootstrap) : [];
  // What a new log is to begin with is judged before it is written.
  const image = isNew ? imageFromRecords(first, loader.image.provenance) : loader.image;
  if (typeof image === 'string') return image;
  const unserved = unservedFeatures(image);
  if (unserved.length > 0) {
    const list = unserved.map(({ name, level }) => `${name}=${level}`).join(', ');
    return `the cluster has finalized features that this node does not serve: ${list}`;
  }
  const state = createController(config, loader.image, seed, nowMs);
  // A controller that died in a transaction did not end it.
  const reason = 'the controller that began it is gone';
  const isOpen = loader.transaction !== null;
  return { state, records: isOpen ? [metadataRecord('AbortTransactionRecord', 0, { reason })] : first };
}

/** What the formatted directory asks for, and what its features need. */
function firstRecords(config: ControllerConfig, bootstrap: readonly MetadataRecord[]): MetadataRecord[] {
  const levels = bootstrap.flatMap((record) =>
    record.kind === 'FeatureLevelRecord' ? [{ name: record.value.name, level: record.value.featureLevel }] : [],
  );
  const minInsync = Number(config.given.get('min.insync.replicas') ?? '1');
  const records = bootstrapRecords(minInsync, levels.length === 0 ? undefined : levels);
  return [...records, ...bootstrap.filter((record) => record.kind !== 'FeatureLevelRecord')];
}

function decide(
  controller: Controller,
  context: HandleContext,
  request: ControllerRequest,
): Decision<ControllerShapes> {
  if (request.kind !== 'api') {
    return { records: dutyRecords(controller, context.nowMs, request), response: null, isAtomic: false };
  }
  const { apiKey, version, body, ids } = request;
  return handle(controller, { ...context, ids }, apiKey, version, body);
}

function dutyRecords(controller: Controller, nowMs: number, duty: Duty): readonly MetadataRecord[] {
  switch (duty.kind) {
    case 'fence':
      return fenceBroker(controller, duty.broker, duty.epoch);
    case 'balance':
      return balance(controller, nowMs);
    default:
      return electUncleanly(controller);
  }
}

function decodeMetadataProblem(value: Uint8Array): { readonly record: MetadataRecord } | { readonly problem: string } {
  const decoded = decodeMetadataRecord(value);
  return 'problem' in decoded ? { problem: decoded.problem.sentence } : decoded;
}
