/** Which names a topic may have, in Kafka's words; and which names would be one name in a metric. Pure, no state. */

const LENGTH_MAX = 249;
const LEGAL = /^[a-zA-Z0-9._-]+$/;

/** The topic of the metadata log, which no client may create. */
export const CLUSTER_METADATA_TOPIC = '__cluster_metadata';

/** Topics that belong to the brokers. */
const INTERNAL: ReadonlySet<string> = new Set(['__consumer_offsets', '__transaction_state', '__share_group_state']);

/** Whether a topic belongs to the brokers. */
export function isInternalTopic(name: string): boolean {
  return INTERNAL.has(name);
}

/** What is wrong with a name, or null. */
export function topicNameProblem(name: string): string | null {
  const problem = (what: string): string => `Topic name is invalid: ${what}`;
  if (name === '') return problem('the empty string is not allowed');
  if (name === '.' || name === '..') return problem(`'${name}' is not allowed`);
  if (name.length > LENGTH_MAX) {
    return problem(`the length of '${name}' is longer than the max allowed length ${LENGTH_MAX}`);
  }
  if (LEGAL.test(name)) return null;
  return problem(`'${name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`);
}

/** The name with which others collide: a dot and an underscore are the same in a metric. Null if it has neither. */
export function collisionKey(name: string): string | null {
  return name.includes('.') || name.includes('_') ? name.replaceAll('.', '_') : null;
}
