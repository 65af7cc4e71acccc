/**
 * UpdateFeatures: finalizes other levels. All changes of a request are made, or none. A level is only finalized if this
 * node and every registered one supports it.
 */

import { brokerDefault } from '../metadata/effective.ts';
import {
  ELR_VERSION,
  isElrEnabled,
  KRAFT_VERSION,
  losesMetadata,
  METADATA_LEVEL_MIN,
  METADATA_VERSION,
  metadataLevel,
  SUPPORTED_FEATURES,
} from '../metadata/features.ts';
import { configOf, ResourceType, type SupportedFeature } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { mapValues } from '../metadata/sharded-map.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { configRecord } from './config-changes.ts';
import type { Context, Controller, Handled } from './state.ts';

const UPGRADE = 1;
const SAFE_DOWNGRADE = 2;
const UNSAFE_DOWNGRADE = 3;
const MIN_INSYNC = 'min.insync.replicas';

/** The level of the quorum's feature that we run; the quorum keeps it, so it is neither raised nor lowered here. */
const KRAFT_LEVEL = 1;

/** UpdateFeatures. */
export function updateFeatures(
  controller: Controller,
  _context: Context,
  request: RequestOf<57>,
  version: number,
): Handled<ResponseInputOf<57>> {
  const records: MetadataRecord[] = [];
  for (const update of request.featureUpdates) {
    const { feature, maxVersionLevel: level } = update;
    const oldType = update.allowDowngrade ? SAFE_DOWNGRADE : UPGRADE;
    const problem = updateProblem(controller, feature, level, version === 0 ? oldType : update.upgradeType);
    if (problem !== null) {
      const errorMessage = `The update failed for all features since the following feature had an error: ${problem}`;
      const errorCode = ErrorCode.INVALID_UPDATE_VERSION;
      return { records: [], response: { throttleTimeMs: 0, errorCode, errorMessage, results: [] }, isAtomic: true };
    }
    if (feature === KRAFT_VERSION) continue;
    records.push(metadataRecord('FeatureLevelRecord', 0, { name: feature, featureLevel: level }));
    if (feature === ELR_VERSION && level > 0 && !isElrEnabled(controller.image)) addElrSettings(controller, records);
  }
  const results = request.featureUpdates.map(({ feature }) => ({
    feature,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
  }));
  return {
    records: request.validateOnly ? [] : records,
    response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null, results: version < 2 ? results : [] },
    isAtomic: true,
  };
}

/** From now on `min.insync.replicas` is the same on every broker: what differs is taken away. */
function addElrSettings(controller: Controller, records: MetadataRecord[]): void {
  const { image, config } = controller;
  if (!configOf(image, ResourceType.BROKER, '').has(MIN_INSYNC)) {
    const value = config.given.get(MIN_INSYNC) ?? brokerDefault(MIN_INSYNC);
    records.push(configRecord(ResourceType.BROKER, '', MIN_INSYNC, value));
  }
  for (const { resource, values } of mapValues(image.configs)) {
    const isOneBroker = resource.type === ResourceType.BROKER && resource.name !== '';
    if (isOneBroker && values.has(MIN_INSYNC)) {
      records.push(configRecord(ResourceType.BROKER, resource.name, MIN_INSYNC, null));
    }
  }
}

function updateProblem(controller: Controller, name: string, level: number, upgradeType: number): string | null {
  const { image } = controller;
  const invalid = (why: string): string => `Invalid update version ${level} for feature ${name}. ${why}`;
  if (![UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE].includes(upgradeType)) {
    return invalid('The controller does not support the given upgrade type.');
  }
  if (level < 0) return invalid('A feature version cannot be less than 0.');
  const unsupported = supportProblem(controller, name, level);
  if (unsupported !== null) return invalid(unsupported);
  if (name === KRAFT_VERSION) {
    return level === KRAFT_LEVEL ? null : invalid(`This cluster runs ${KRAFT_VERSION} ${KRAFT_LEVEL} and stays there.`);
  }
  const current = name === METADATA_VERSION ? metadataLevel(image) : (image.features.get(name) ?? 0);
  if (level < current && upgradeType === UPGRADE) {
    return invalid(
      "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe " +
        'downgrade.',
    );
  }
  if (level > current && upgradeType !== UPGRADE) return invalid("Can't downgrade to a newer version.");
  if (name !== METADATA_VERSION || level >= current || !losesMetadata(current, level)) return null;
  const start = `Unsupported metadata.version downgrade from ${current} to ${level}.`;
  if (upgradeType === UNSAFE_DOWNGRADE) return `${start} Unsafe metadata downgrade is not supported in this version.`;
  return `${start} Refusing to perform the requested downgrade because it might delete metadata information.`;
}

/** Why a level cannot be finalized: some node does not support it. */
function supportProblem(controller: Controller, name: string, level: number): string | null {
  const { image, config } = controller;
  const own = reason(`Local controller ${config.nodeId}`, SUPPORTED_FEATURES, name, level);
  if (own !== null || name === KRAFT_VERSION) return own;
  for (const broker of image.cluster.brokers.values()) {
    const why = reason(`Broker ${broker.id}`, broker.features, name, level);
    if (why !== null) return why;
  }
  for (const other of image.cluster.controllers.values()) {
    if (other.id === config.nodeId) continue;
    const why = reason(`Controller ${other.id}`, other.features, name, level);
    if (why !== null) return why;
  }
  return null;
}

function reason(who: string, features: readonly SupportedFeature[], name: string, level: number): string | null {
  const feature = features.find((found) => found.name === name);
  const min = feature?.minSupportedVersion ?? 0;
  const max = feature?.maxSupportedVersion ?? 0;
  if (level >= min && level <= max && (name !== METADATA_VERSION || level >= METADATA_LEVEL_MIN)) return null;
  return max === 0 ? `${who} does not support this feature.` : `${who} only supports versions ${min}-${max}`;
}
