/**
 * Who reads what: for each topic the places of its readers among the members. Most members of a group read the same,
 * and where they share one set of topics it is walked once, and its topics share one list. Pure, no state.
 */
import type { AssignableMember } from './server-shapes.ts';

/** Of more sets than these lists are made topic by topic: they are too many to have much in common. */
const SHARED_SETS_MAX = 16;

type List = readonly number[];

/** The readers of each topic, ascending; topics that nobody reads are not in it. */
export function readersByTopic(members: readonly AssignableMember[]): ReadonlyMap<string, List> {
  const bySet = new Map<ReadonlySet<string>, number[]>();
  members.forEach(({ topicIds }, m) => {
    add(bySet, topicIds, m);
  });
  if (bySet.size > SHARED_SETS_MAX) return oneByOne(members);
  const readers = new Map<string, List>();
  const unions = new Map<List, Map<List, List>>();
  for (const [topicIds, some] of bySet) {
    for (const topicId of topicIds) {
      const before = readers.get(topicId);
      readers.set(topicId, before === undefined ? some : unionOf(unions, before, some));
    }
  }
  return readers;
}

function oneByOne(members: readonly AssignableMember[]): Map<string, number[]> {
  const readers = new Map<string, number[]>();
  members.forEach(({ topicIds }, m) => {
    for (const topicId of topicIds) add(readers, topicId, m);
  });
  return readers;
}

function add<K>(lists: Map<K, number[]>, key: K, m: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [m]);
  else list.push(m);
}

/** Both lists in one, made once for every two. */
function unionOf(unions: Map<List, Map<List, List>>, a: List, b: List): List {
  let withA = unions.get(a);
  if (withA === undefined) {
    withA = new Map();
    unions.set(a, withA);
  }
  let union = withA.get(b);
  if (union === undefined) {
    union = [...a, ...b].sort((x, y) => x - y);
    withA.set(b, union);
  }
  return union;
}
