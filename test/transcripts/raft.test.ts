/**
 * Transcripts of the quorum: three voters, and observers, on simulated disks, joined by a network that takes a moment.
 * Every line is a time in ms since the beginning, and who does or sends what. `truth.ts` watches, as in all stories.
 *
 * Of the fetches only what is news is shown: a follower asks again and again from where it stands.
 */
import type { RequestOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { readBatch } from '../../core/raft/batches.ts';
import { type PeerKey, type Raft, stateName } from '../../core/raft/raft.ts';
import { TALLY } from '../coordination/tally.ts';
import { createDice, FAKE_CODECS } from '../log/world.ts';
import { createCluster, kill, leaderOf, run, runUntil, start, stop, submit } from '../raft/cluster.ts';
import type { Cluster, Member, TallyEvent } from '../raft/cluster-state.ts';
import { cut } from '../raft/network.ts';
import { batchesOf, createTruth, hear, look } from '../raft/truth.ts';
import { epochOf, offsetsOf } from './fetches.ts';
import { answerText, callText } from './raft-messages.ts';
import { createTale, endSaying, logText, say, type Tale, tell } from './tale.ts';
import { type Command, numberOf, numbersOf, optionOf, playAll, waysOf, withEach } from './transcript.ts';

const WAIT_MS_MAX = 20_000;

interface Story {
  readonly cluster: Cluster;
  readonly tale: Tale;
  /** Of each member: how many effects of its disk were looked at. */
  readonly disks: Map<Member, number>;
}

function begin(command: Command): Story {
  const cluster = createCluster({
    dice: createDice(11),
    observers: optionOf(command, 'observers', 0),
    snapshotBytes: optionOf(command, 'snapshotBytes', Infinity),
  });
  const tale = createTale(cluster.nowMs);
  const story: Story = { cluster, tale, disks: new Map() };
  const truth = createTruth();
  cluster.onEvent = (member, event) => noteEvent(story, member, event);
  cluster.onReply = (member, apiKey, request, response) => {
    hear(truth, member, apiKey, request, response);
    const { to, text } = answerText(apiKey, request as RequestOf<PeerKey>, response as ResponseOf<PeerKey>);
    say(tale, `${member.id} > ${to}`, apiKey, text);
  };
  cluster.onStep = (member) => {
    look(cluster, truth, member);
    endStep(story, member);
  };
  return story;
}

function noteEvent({ tale }: Story, { id }: Member, event: TallyEvent): void {
  if (event.kind === 'answered') tale.said.push(`${id}  tells a client that request ${event.waiter} is committed`);
  if (event.kind === 'lost') tale.said.push(`${id}  cannot tell what will become of request ${event.waiter}`);
  if (event.kind === 'call') say(tale, `${id} > ${Math.abs(event.nodeId)}`, event.apiKey, callText(event));
}

/** A member has done something: first what it has on its disk, then what it is, then what it said. */
function endStep({ cluster, tale, disks }: Story, member: Member): void {
  const { id, disk, quorum } = member;
  const { nowMs } = cluster;
  for (const effect of disk.done.slice(disks.get(member))) {
    if (effect.kind !== 'replace' || !effect.path.endsWith('quorum-state')) continue;
    const { leaderId, leaderEpoch, votedId } = JSON.parse(new TextDecoder().decode(effect.bytes));
    const who = leaderId >= 0 ? `leader ${leaderId}` : votedId >= 0 ? `voted for ${votedId}` : 'nobody';
    tell(tale, nowMs, `${id}  has on its disk: epoch ${leaderEpoch}, ${who}`);
  }
  disks.set(member, disk.done.length);
  // While epoch, vote or leader are being written, a member is between two roles.
  if (quorum?.raft.stage === 'open' && quorum.raft.changing === null) {
    tell(tale, nowMs, `${id}  ${roleText(quorum.raft)}`, `role of ${id}`);
    tell(tale, nowMs, `${id}  ${logText(quorum.raft.log, quorum.raft.highWatermark)}`, `log of ${id}`);
  }
  endSaying(tale, nowMs);
}

function roleText(raft: Raft): string {
  const { epoch, leaderId, votedId } = raft;
  const texts = {
    leader: `leads epoch ${epoch}`,
    follower: `follows ${leaderId} in epoch ${epoch}`,
    observer: `observes ${leaderId < 0 ? 'nobody' : leaderId} in epoch ${epoch}`,
    voted: `has voted for ${votedId} in epoch ${epoch}`,
    prospective: `is prospective in epoch ${epoch}`,
    candidate: `is a candidate of epoch ${epoch}`,
    resigned: `has resigned from epoch ${epoch}`,
    unattached: `knows no leader, epoch ${epoch}`,
  };
  return texts[stateName(raft)];
}

function stateText({ id, quorum }: Member): string {
  if (quorum === null) return `${id}  is down`;
  return `${id}  ${roleText(quorum.raft)}; ${logText(quorum.raft.log, quorum.raft.highWatermark)}`;
}

/** What lies in the log of a member, batch by batch. */
function batchText(member: Member): string {
  const env = { nowMs: 0, wallMs: 0, crc32c: () => 0, codecs: FAKE_CODECS, reached: () => {} };
  const batches = batchesOf(member, 0).map(({ bytes }) => {
    const texts = readBatch(bytes, env).values.map((value) => {
      const decoded = TALLY.decode(value);
      return 'record' in decoded ? `${decoded.record.name}+${decoded.record.amount}` : decoded.problem;
    });
    return `${offsetsOf(bytes)} (epoch ${epochOf(bytes)}) ${texts.length === 0 ? 'control' : texts.join(' ')}`;
  });
  return `${member.id}  ${batches.join(' | ')}`;
}

function memberOf({ cluster }: Story, id: number): Member {
  const member = cluster.members[id - 1];
  if (member === undefined) throw new Error(`there is no member ${id}`);
  return member;
}

/** Everybody who is up has all that the leader has, and knows that it is committed. */
function isSettled(cluster: Cluster): boolean {
  const end = leaderOf(cluster)?.quorum?.raft.log.end;
  return cluster.members.every(({ quorum }) => quorum === null || quorum.raft.highWatermark === end);
}

function wait(story: Story, command: Command): void {
  const { cluster } = story;
  const [what, role] = command.words;
  const isThere = (): boolean => {
    if (what === 'settled') return isSettled(cluster);
    if (what === 'leader') return leaderOf(cluster) !== null;
    const { quorum } = memberOf(story, Number(what));
    return quorum !== null && stateName(quorum.raft) === role;
  };
  if (!runUntil(cluster, WAIT_MS_MAX, isThere)) throw new Error(`${command.words.join(' ')} does not come`);
}

playAll(new URL('./raft/', import.meta.url), {
  opening: 'quorum',
  begin,
  taleOf: ({ tale }) => tale,
  commands: {
    start: (story, command) => withEach(command, (id) => start(story.cluster, memberOf(story, id))),
    stop: (story, command) => withEach(command, (id) => stop(story.cluster, memberOf(story, id))),
    kill: (story, command) => withEach(command, (id) => kill(story.cluster, memberOf(story, id), 'process')),
    'power-loss': (story, command) => withEach(command, (id) => kill(story.cluster, memberOf(story, id), 'power')),
    pause: (story, command) => {
      const untilMs = story.cluster.nowMs + optionOf(command, 'ms', 0);
      withEach(command, (id) => {
        memberOf(story, id).pausedUntilMs = untilMs;
      });
    },
    cut: ({ cluster }, { words }) => {
      const all = cluster.members.map(({ id }) => id);
      for (const word of words) for (const [from, to] of waysOf(word, all)) cut(cluster, [from], [to]);
    },
    mend: ({ cluster }) => cluster.network.cuts.clear(),
    submit: (story, command) => {
      const [id = -1, ...requests] = numbersOf(command);
      for (const request of requests) submit(story.cluster, memberOf(story, id), request, [1]);
    },
    run: ({ cluster }, command) => run(cluster, numberOf(command)),
    until: wait,
    state: ({ cluster }) => cluster.members.map(stateText),
    logs: ({ cluster }) => cluster.members.map(batchText),
  },
});
