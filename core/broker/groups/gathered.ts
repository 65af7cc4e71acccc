/** One answer of the answers of all calls that a request was taken apart into. No state. */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import { answer } from '../answers.ts';
import { answerOffsetFetch } from '../api/09-offset-fetch.ts';
import { answerJoinGroup } from '../api/11-join-group.ts';
import { answerDescribeGroups } from '../api/15-describe-groups.ts';
import { answerListGroups } from '../api/16-list-groups.ts';
import { answerDeleteGroups } from '../api/42-delete-groups.ts';
import { answerConsumerGroupDescribe } from '../api/69-consumer-group-describe.ts';
import type { Node } from '../state.ts';
import type { Gather } from './state.ts';

type Kind = Gather['kind'];

/** All calls of a request are answered. */
export function answerGather(node: Node, gather: Gather): void {
  const { request, kind, bodies, wantsOperations } = gather;
  // A request's calls are all of its kind, and so are their answers.
  const of = <K extends Kind>(_kind: K): GroupAnswerBodies[K][] => bodies as GroupAnswerBodies[K][];
  const one = <K extends Kind>(_kind: K): GroupAnswerBodies[K] => bodies[0] as GroupAnswerBodies[K];
  switch (kind) {
    case 'offsetCommit':
      answer(node, request, 8, one(kind));
      break;
    case 'offsetFetch':
      answerOffsetFetch(node, gather, of(kind));
      break;
    case 'joinGroup':
      answerJoinGroup(node, request, one(kind));
      break;
    case 'heartbeat':
      answer(node, request, 12, one(kind));
      break;
    case 'leaveGroup':
      answer(node, request, 13, one(kind));
      break;
    case 'syncGroup':
      answer(node, request, 14, one(kind));
      break;
    case 'describeGroup':
      answerDescribeGroups(node, request, of(kind), wantsOperations);
      break;
    case 'listGroups':
      answerListGroups(node, request, of(kind));
      break;
    case 'deleteGroup':
      answerDeleteGroups(node, request, of(kind));
      break;
    case 'offsetDelete':
      answer(node, request, 47, one(kind));
      break;
    case 'consumerGroupHeartbeat':
      answer(node, request, 68, one(kind));
      break;
    case 'consumerGroupDescribe':
      answerConsumerGroupDescribe(node, request, of(kind), wantsOperations);
      break;
  }
}
