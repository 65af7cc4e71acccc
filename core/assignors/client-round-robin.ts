/**
 * The client's assignor 'roundrobin': all partitions of all topics in a row, dealt to the members in turn, whoever does
 * not subscribe to a topic being passed over. Pure, no state.
 */
import {
  type Assignment,
  type AssignorMember,
  type AssignorTopic,
  type ClientAssignor,
  dealt,
  emptyHands,
  type Gathered,
  gather,
  sortedMembers,
  sortedTopics,
} from './client-shapes.ts';

/** The assignor. */
export const clientRoundRobin: ClientAssignor = {
  name: 'roundrobin',
  isCooperative: false,
  userData: () => null,
  assign: assignRoundRobin,
};

function assignRoundRobin(members: readonly AssignorMember[], topics: readonly AssignorTopic[]): Assignment {
  const inTurn = sortedMembers(members);
  const wishes = inTurn.map((member) => new Set(member.topics));
  const hands = emptyHands(inTurn);
  const inRow = [...hands.values()];
  let turn = 0;
  for (const { topic, partitionsCount } of sortedTopics(topics)) {
    if (!wishes.some((wish) => wish.has(topic))) continue;
    for (let partition = 0; partition < partitionsCount; partition++) {
      while (wishes[turn % wishes.length]?.has(topic) !== true) turn += 1;
      gather(inRow[turn % wishes.length] as Gathered, topic, partition);
      turn += 1;
    }
  }
  return dealt(hands);
}
