/**
 * Kafka's settings of topics that no setting of this node stands behind. All are accepted, checked and described; of
 * them the first two act. Data, no state.
 */

/** What each is for in Apache Kafka, by name. */
export const TOPIC_ONLY_SETTINGS: ReadonlyMap<string, string> = new Map([
  [
    'leader.replication.throttled.replicas',
    'Leaders that send at leader.replication.throttled.rate: partition:broker pairs, or *.',
  ],
  [
    'follower.replication.throttled.replicas',
    'Followers that fetch at follower.replication.throttled.rate: partition:broker pairs, or *.',
  ],
  ['remote.storage.enable', 'Whether old segments move to remote storage; true is refused.'],
  ['local.retention.ms', 'How long segments stay here that are in remote storage.'],
  ['local.retention.bytes', 'How many bytes stay here that are in remote storage.'],
  ['remote.log.copy.disable', 'Whether no more segments move to remote storage.'],
  ['remote.copy.lag.ms', 'How old a segment is that moves to remote storage.'],
  ['remote.copy.lag.bytes', 'How many bytes lie between a segment that moves to remote storage and the end.'],
  ['remote.log.delete.on.disable', 'Whether what is in remote storage goes when that is turned off.'],
  ['errors.deadletterqueue.group.enable', 'Whether the topic takes what share groups could not process.'],
]);
