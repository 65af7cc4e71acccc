/**
 * Partitions that move to other replicas (KIP-455): AlterPartitionReassignments begins a move, turns it elsewhere or
 * cancels it; ListPartitionReassignments says which are under way.
 *
 * While a partition moves its replicas are all that it had and all that it is to have: the target first, in the order
 * that the operator gave, then those that are to go. Without `addingReplicas` they are where the move began, without
 * `removingReplicas` where it ends; a replica that was to come and is not wanted any more, because the move was turned
 * elsewhere, is in both until then. Nobody is taken out of the in-sync set before all of the target are in it: that
 * ends the move, within the very record that says so (`partition-change.ts`). A target that is dead is waited for; a
 * source that is dead holds nothing up.
 *
 * A move that is cancelled leaves what had come, and goes back to where it began. If nobody who stays is in sync, all
 * that is committed is with those who leave: that is refused, unless the topic admits loss. Pure: changes nothing.
 */
import { DirectoryId, listPartitionReassignments } from '../metadata/describe-topics.ts';
import { type MetadataImage, type PartitionImage, type TopicImage, topicByName } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { commonRules, NOTHING_HAPPENS, rulesFor } from './elections.ts';
import { directoryOf } from './new-partitions.ts';
import { type Assignment, type ChangeRules, changeOf, type Wanted } from './partition-change.ts';
import { assignmentProblem } from './placement.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX, type Refusal } from './state.ts';

type Asked = RequestOf<45>['topics'][number]['partitions'][number];
type Answers = ResponseInputOf<45>['responses'];

const RECOVERING = 1;
const DONE: Refusal = { errorCode: ErrorCode.NONE, errorMessage: null };

/** What is decided about one partition of a request: what is wanted of it, or why it stays as it is. */
type Plan = { readonly wanted: Wanted; readonly rules: ChangeRules } | Refusal;

/** AlterPartitionReassignments. Each partition is answered for itself; their records need not be in one batch. */
export function alterPartitionReassignments(
  controller: Controller,
  _context: Context,
  request: RequestOf<45>,
): Handled<ResponseInputOf<45>> {
  const { image } = controller;
  const { allowReplicationFactorChange } = request;
  const common = commonRules(controller, NOTHING_HAPPENS);
  const records: MetadataRecord[] = [];
  const seen = new Set<string>();
  const responses = request.topics.map(({ name, partitions }): Answers[number] => {
    const topic = topicByName(image, name);
    const rules = topic === undefined ? common : rulesFor(image, topic, common);
    const answers = partitions.map((asked) => {
      const { partitionIndex } = asked;
      const key = `${name}:${partitionIndex}`;
      const outcome = seen.has(key)
        ? refusal(ErrorCode.INVALID_REQUEST, `The partition ${key} is named more than once.`)
        : moveOne(image, name, topic, rules, asked, allowReplicationFactorChange, records);
      seen.add(key);
      return { partitionIndex, ...outcome };
    });
    return { name, partitions: answers };
  });
  const head = { throttleTimeMs: 0, allowReplicationFactorChange };
  if (records.length > RECORDS_PER_REQUEST_MAX) {
    const errorMessage = 'Unable to perform excessively large batch operation.';
    const response = { ...head, errorCode: ErrorCode.POLICY_VIOLATION, errorMessage, responses: [] };
    return { records: [], response, isAtomic: true };
  }
  const response = { ...head, errorCode: ErrorCode.NONE, errorMessage: null, responses };
  return { records, response, isAtomic: false };
}

/** ListPartitionReassignments: moves as this controller knows them; the answer waits until they are committed. */
export function listReassignments(
  controller: Controller,
  _context: Context,
  request: RequestOf<46>,
): Handled<ResponseInputOf<46>> {
  return { records: [], response: listPartitionReassignments(controller.image, request), isAtomic: true };
}

function refusal(errorCode: number, errorMessage: string): Refusal {
  return { errorCode, errorMessage };
}

/** Adds the record of one partition, if it takes one; gives its answer. */
function moveOne(
  image: MetadataImage,
  name: string,
  topic: TopicImage | undefined,
  rules: ChangeRules,
  { partitionIndex, replicas }: Asked,
  mayChangeFactor: boolean,
  records: MetadataRecord[],
): Refusal {
  const unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  if (topic === undefined) return refusal(unknown, `Unable to find a topic named ${name}.`);
  const before = topic.partitions[partitionIndex];
  if (before === undefined) return refusal(unknown, `Unable to find partition ${name}:${partitionIndex}.`);
  const plan =
    replicas === null
      ? cancelled(before, rules, `${name}:${partitionIndex}`)
      : moved(image, before, rules, replicas, mayChangeFactor);
  if ('errorCode' in plan) return plan;
  const change = changeOf(topic.id, partitionIndex, before, plan.rules, plan.wanted);
  if (change !== null) records.push(change);
  return DONE;
}

/** Whether a partition is on its way to other replicas. */
function isMoving({ addingReplicas, removingReplicas }: PartitionImage): boolean {
  return addingReplicas.length > 0 || removingReplicas.length > 0;
}

/** The replicas at which a move began. */
function originOf({ replicas, addingReplicas }: PartitionImage): readonly number[] {
  return replicas.filter((id) => !addingReplicas.includes(id));
}

/** The partition is to be with `target`. */
function moved(
  image: MetadataImage,
  before: PartitionImage,
  rules: ChangeRules,
  target: readonly number[],
  mayChangeFactor: boolean,
): Plan {
  const problem = assignmentProblem(image, target, -1);
  if (problem !== null) return refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem);
  const { replicas, removingReplicas } = before;
  const factor = replicas.length - removingReplicas.length;
  if (!mayChangeFactor && target.length !== factor) {
    const why = `The replication factor is changed from ${factor} to ${target.length}`;
    return refusal(ErrorCode.INVALID_REPLICATION_FACTOR, why);
  }
  const origin = originOf(before);
  const removing = ascending(replicas.filter((id) => !target.includes(id)));
  const all = [...target, ...removing];
  const assignment: Assignment = {
    replicas: all,
    directories: all.map((id) => directoryIn(image, before, id)),
    addingReplicas: ascending(all.filter((id) => !origin.includes(id))),
    removingReplicas: removing,
  };
  // That a partition moves is no reason to let anybody lead.
  return { wanted: { isr: before.isr, uncleanBroker: -1, assignment }, rules: { ...rules, election: 'online' } };
}

function ascending(ids: readonly number[]): readonly number[] {
  return [...ids].sort((a, b) => a - b);
}

/** Where a replica is, or is to be. */
function directoryIn(image: MetadataImage, { replicas, directories }: PartitionImage, id: number): string {
  const at = replicas.indexOf(id);
  return at < 0 ? directoryOf(image, id) : (directories[at] ?? DirectoryId.UNASSIGNED);
}

/** The partition is to go back to where its move began. */
function cancelled(before: PartitionImage, rules: ChangeRules, name: string): Plan {
  if (!isMoving(before)) {
    return refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, 'No partition reassignment is in progress.');
  }
  const replicas = originOf(before);
  const directories = before.directories.filter((_, at) => replicas.includes(before.replicas[at] ?? -1));
  const assignment = { replicas, directories, addingReplicas: [], removingReplicas: [] };
  const isr = before.isr.filter((id) => replicas.includes(id));
  if (isr.length > 0) return { wanted: { isr, uncleanBroker: -1, assignment }, rules };
  if (rules.election !== 'unclean') {
    const why = 'because it would require an unclean leader election.';
    const what = `Unable to revert partition assignment for ${name} ${why}`;
    return refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, what);
  }
  if (rules.isElrEnabled) return { wanted: { isr, uncleanBroker: -1, assignment }, rules };
  // Without eligible replicas nobody may leave the set but for another: whoever takes it has what it has.
  const heir = replicas.find((id) => rules.isAcceptable(id, assignment)) ?? replicas[0] ?? -1;
  return { wanted: { isr: [heir], uncleanBroker: -1, assignment, leaderRecoveryState: RECOVERING }, rules };
}
