/** Which marks the moves of a partition leave, from images as the controller writes them. */
import { expect, test } from 'vitest';
import type { PartitionImage } from '../../core/metadata/image.ts';
import { moveMarks } from '../../runtime-sim/marks/move-marks.ts';

function partition(replicas: readonly number[], adding: readonly number[] = [], removing: readonly number[] = []) {
  const image: PartitionImage = {
    replicas,
    directories: [],
    isr: replicas.filter((id) => !adding.includes(id)),
    removingReplicas: removing,
    addingReplicas: adding,
    elr: [],
    lastKnownElr: [],
    leader: replicas[replicas.length - 1] ?? -1,
    leaderRecoveryState: 0,
    leaderEpoch: 3,
    partitionEpoch: 7,
  };
  return image;
}

test('a partition has grown when all that were to come are there, and not before', () => {
  const [rests, moves] = [partition([2, 1]), partition([3, 2, 1], [3])];
  expect(moveMarks(rests, moves)).toEqual(['sim.move.begun']);
  expect(moveMarks(moves, partition([3, 2, 1]))).toEqual(['sim.move.ended', 'sim.move.grown']);
});

test('a partition that goes elsewhere, or back, has the size that it had', () => {
  const moves = partition([3, 2, 1], [3], [1]);
  expect(moveMarks(moves, partition([3, 2]))).toEqual(['sim.move.ended', 'sim.move.leader_left']);
  expect(moveMarks(moves, partition([2, 1]))).toEqual(['sim.move.cancelled']);
});

test('a partition shrinks at once, or when others have come', () => {
  expect(moveMarks(partition([3, 2, 1]), partition([2, 1]))).toEqual(['sim.move.ended_at_once', 'sim.move.shrunk']);
  const moves = partition([4, 3, 2, 1], [4], [3, 2]);
  expect(moveMarks(moves, partition([4, 1]))).toEqual(['sim.move.ended', 'sim.move.shrunk']);
});

test('a move that is turned is measured from where it began', () => {
  // From brokers 2 and 1 to 3 and 4, then to 3, 2 and 1: broker 4 is to come and to go.
  const turned = partition([3, 2, 1, 4], [3, 4], [4]);
  expect(moveMarks(partition([3, 4, 2, 1], [3, 4], [1, 2]), turned)).toEqual(['sim.move.turned']);
  expect(moveMarks(turned, partition([3, 2, 1]))).toEqual(['sim.move.ended', 'sim.move.grown', 'sim.move.leader_left']);
});
