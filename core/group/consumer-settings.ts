/**
 * What counts for one consumer group: its own settings (`consumer.session.timeout.ms` and the like, set on the group)
 * within the bounds that the broker gives, else the broker's. A setting that is no number counts as not set. Pure.
 */
import { configOf, type MetadataImage, ResourceType } from '../metadata/image.ts';
import type { GroupConfig } from './shapes.ts';

/** How long a member of the consumer protocol may be silent, ms. */
export function sessionTimeoutMs({ consumer }: GroupConfig, image: MetadataImage, groupId: string): number {
  const { sessionTimeoutMinMs, sessionTimeoutMaxMs } = consumer;
  const own = ownNumber(image, groupId, 'consumer.session.timeout.ms', sessionTimeoutMinMs, sessionTimeoutMaxMs);
  return own ?? consumer.sessionTimeoutMs;
}

/** How often members are to send heartbeats, ms. */
export function heartbeatIntervalMs({ consumer }: GroupConfig, image: MetadataImage, groupId: string): number {
  const { heartbeatIntervalMinMs, heartbeatIntervalMaxMs } = consumer;
  const name = 'consumer.heartbeat.interval.ms';
  return (
    ownNumber(image, groupId, name, heartbeatIntervalMinMs, heartbeatIntervalMaxMs) ?? consumer.heartbeatIntervalMs
  );
}

/** How long partitions are not dealt out anew after they were, ms. */
export function assignmentIntervalMs({ consumer }: GroupConfig, image: MetadataImage, groupId: string): number {
  const { assignmentIntervalMinMs, assignmentIntervalMaxMs } = consumer;
  const name = 'consumer.assignment.interval.ms';
  const own = ownNumber(image, groupId, name, assignmentIntervalMinMs, assignmentIntervalMaxMs);
  return own ?? consumer.assignmentIntervalMs;
}

function ownNumber(
  image: MetadataImage,
  groupId: string,
  name: string,
  minimum: number,
  maximum: number,
): number | null {
  const text = configOf(image, ResourceType.GROUP, groupId).get(name);
  if (text === undefined || !/^\d{1,10}$/.test(text)) return null;
  return Math.min(Math.max(Number(text), minimum), maximum);
}
