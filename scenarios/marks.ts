/** Rare paths that a sweep of enough seeds must take, or it proves less than it seems to. Names as in `env.reached`. */

/** Seeds from which on the first marks are required. */
export const REQUIRED_SEEDS_MIN = 200;

/** Marks that must be reached. */
export const REQUIRED_MARKS: readonly string[] = [
  'log.roll.size',
  'log.recovery.synced',
  'log.read.cold',
  'log.index.rebuilt',
  'log.cut_back',
  'log.recovery.torn_tail',
  'log.roll.index',
  'log.roll.time',
  // A topic was deleted, the node went down, and the name came again.
  'sim.admin.recreated_across_crash',
  // The node went down with a question of an administrator, and a description told later what had become of it.
  'sim.admin.lost_and_found',
  'raft.snapshot.written',
  'raft.opening.snapshot',
  'raft.opening.bad_snapshot',
  'raft.log.cut',
  // What replication does seldom: logs that part, lists that shrink and grow, answers that come for something else.
  'replication.diverging',
  'log.truncate.done',
  'replication.in_sync.grow',
  'replication.session.ended',
  'replication.answer.late',
  'replication.partition_error',
  'reader.nearby',
  'reader.nearbyLeft',
  // What a quorum does seldom: a vote that would unseat a leader, a leader without a majority, or one that goes.
  'raft.pre_vote.refused',
  'raft.check_quorum',
  'raft.end_quorum_epoch',
  'raft.leader_is_gone',
  // Partitions move, and arrive; voters come and go; a replica with wrong bytes is fetched anew.
  'sim.move.begun',
  'sim.move.ended',
  'sim.move.leader_left',
  'sim.move.grown',
  'sim.move.shrunk',
  'raft.voter.added',
  'raft.voter.removed',
  'broker.mend.begun',
  'broker.mend.done',
  // Groups of both protocols go from one generation to the next, and their coordinators move and learn what they know.
  'sim.group.rebalanced_classic',
  'sim.group.rebalanced_consumer',
  'sim.group.moved',
  'sim.group.loaded',
  'sim.group.offsets_loaded',
  'coordinator.lost',
  // Members stand still and are not polled, and hear of it; static ones come back.
  'sim.consumer.frozen',
  'member.stalled',
  'member.unknownAtJoin',
  'sim.group.static_returned_classic',
  // Somebody comes back after its session and commits; offsets are set back by who is no member, and in groups of none.
  'sim.consumer.zombie',
  'sim.offsets.set_back',
  'sim.offsets.stored_simple',
  // Groups and offsets are deleted where nobody is, refused where somebody is, and described.
  'sim.group.deleteGroup_simple',
  'sim.group.deleteOffset_simple',
  'sim.group.deleteGroup_NON_EMPTY_GROUP',
  'sim.group.deleteOffset_GROUP_SUBSCRIBED_TO_TOPIC',
  'sim.group.describeGroup_classic',
  'sim.group.describeConsumerGroup_consumer',
];

/** Marks that a sweep without limits must reach. */
export const UNLIMITED_MARKS: readonly string[] = [
  'sim.disk.lost',
  'sim.disk.older',
  'sim.disk.rotten',
  'sim.disk.misdirected',
  'sim.disk.misread',
  'sim.disk.unwritten',
  'sim.disk.unsynced',
  'sim.flip.batch',
  'sim.flip.header',
  // The end: all disks are whole again, some are and are enough, or they are not.
  'sim.beyond.all_whole',
  'sim.beyond.core',
  'sim.beyond.no_core',
];

/** Seeds from which on the rarest marks are required too. */
export const RARE_SEEDS_MIN = 2_000;

/** Marks that a small sweep may miss. */
export const RARE_MARKS: readonly string[] = [
  'replication.in_sync.shrink',
  'replication.too_few',
  'replication.too_few_after_append',
  // A follower lay below the start of its leader's log, and began anew.
  'replication.out_of_range',
  'log.reset.done',
  'replication.alter.retried',
  'log.truncate.index_read',
  // A member of the quorum had records that no majority has.
  'raft.follower.cut',
  // A member of the quorum was away until the log no longer reached back to what it knew: it took a snapshot.
  'raft.fetch.snapshot',
  'raft.download.done',
  // A leader was elected that lacked records, where that was allowed, and some that had been committed were lost.
  'sim.elected.unclean',
  'sim.lost_by_election',
  // A leader was elected that was not in sync and had all that is committed (KIP-966).
  'sim.elected.eligible',
  // A controller was lost with what it was asked; a leader was cut off from all others.
  'broker.call_taken_back',
  'broker.may_be_replaced',
  // What was asked long ago was asked once more, by a producer and by a node; two nodes had a snapshot of one name.
  'sim.repeated',
  'sim.repeated.between',
  'sim.snapshots.compared',
  // A move was taken back, or turned on its way; a leader voted itself out.
  'sim.move.cancelled',
  'sim.move.turned',
  'raft.voter.removed_leader',
  // Whoever was in the midst of an election was slow just then; a leader that had committed nothing was asked to change
  // the voters.
  'sim.election.slow.asks',
  'sim.election.slow.stands',
  'sim.election.slow.leads',
  'raft.voter.too_early',
  // An operator moved a coordinator away, which went on for a while in which it had not heard of that.
  'sim.group.reassigned',
  'sim.group.reassigned_unheard',
  // Groups that had members are deleted once they are empty; of one that is not there that is told.
  'sim.group.deleteGroup_classic',
  'sim.group.deleteGroup_consumer',
  'sim.group.deleteGroup_GROUP_ID_NOT_FOUND',
  'sim.group.describeGroup_GROUP_ID_NOT_FOUND',
  'sim.group.listGroups_simple',
  // Zombies are fenced, in heartbeats and in commits.
  'member.fenced',
  'member.unknownAtHeartbeat',
  'sim.commit.refused_UNKNOWN_MEMBER_ID',
  'sim.commit.refused_REBALANCE_IN_PROGRESS',
  'consumer.withdrawn',
  'sim.group.static_returned_consumer',
  // A coordinator looked up what an expression means, and looked again when topics came.
  'sim.group.expression',
  'sim.group.meaning_changed',
  // Members own partitions of topics that come and go, and give up what is gone.
  'sim.consumer.owns_coming',
  'sim.consumer.gives_up_gone',
  // A group goes from one protocol to the other and back, with members in it; who is no member stores its offsets.
  'sim.consumer.turned_classic',
  'sim.consumer.turned_consumer',
  'sim.group.upgraded',
  'sim.group.downgraded',
  'sim.offsets.stored_both',
  // Of two processes of one instance one was fenced, the other told to wait.
  'sim.consumer.fatal_FENCED_INSTANCE_ID',
  'sim.consumer.fatal_UNRELEASED_INSTANCE_ID',
  'sim.commit.refused_FENCED_INSTANCE_ID',
  'sim.commit.refused_ILLEGAL_GENERATION',
];
