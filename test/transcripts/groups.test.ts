/**
 * Transcripts of classic groups: what members ask, when each is answered, and the records that outlive the coordinator.
 * The log is replayed by the coordinator and, apart from it, by a loader; both hold the same at all times.
 */
import { decodeRecord } from '../../core/group/records.ts';
import { ErrorCode, errorName } from '../../core/protocol/errors.ts';
import type { KeyedBytes } from '../../core/protocol/group-records.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { commit, join, leave, stateOf, sync, textOf } from '../group/classic.ts';
import { type Asked, advance, ask, type Coordinator, createCoordinator, failOver } from '../group/coordinator.ts';
import { type Command, numberOf, playAll } from './transcript.ts';

/** A member as the transcript knows it. */
interface Member {
  readonly name: string;
  readonly instance: string | null;
  id: string;
  generation: number;
  joining: Asked<11> | null;
  syncing: Asked<14> | null;
}

interface Story {
  readonly coordinator: Coordinator;
  readonly members: Map<string, Member>;
  /** Short names of ids, in the order in which they were given. */
  readonly ids: Map<string, string>;
  /** Records of the log that were shown. */
  shown: number;
}

function memberOf(story: Story, { words, options }: Command): Member {
  const name = words[0] ?? '';
  const known = story.members.get(name);
  if (known !== undefined) return known;
  const instance = options.get('instance') ?? null;
  const member = { name, instance, id: '', generation: -1, joining: null, syncing: null };
  story.members.set(name, member);
  return member;
}

/** Who an id is: the member, and how many ids it has had before. */
function called(story: Story, id: string): string {
  const known = story.ids.get(id);
  if (known !== undefined) return known;
  const name = id.replace(/-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '');
  const earlier = [...story.ids.values()].filter((one) => one.replace(/'*$/, '') === name).length;
  story.ids.set(id, name + "'".repeat(earlier));
  return name + "'".repeat(earlier);
}

function recordText(story: Story, entry: KeyedBytes): string {
  const decoded = decodeRecord(entry);
  if (!('record' in decoded)) throw new Error(decoded.problem);
  const { record } = decoded;
  if (record.kind === 'OffsetCommit') {
    const { topic, partition } = record.key;
    return `offset of ${topic}-${partition}: ${record.value?.offset ?? 'gone'}`;
  }
  if (record.kind !== 'GroupMetadata') return record.kind;
  if (record.value === null) return 'group: gone';
  const { generation, protocol, leader, members } = record.value;
  if (members.length === 0) return `group: generation ${generation}, nobody`;
  const parts = members.map((one) => `${called(story, one.memberId)} has ${textOf(one.assignment) || 'nothing'}`);
  return `group: generation ${generation} by ${protocol}, led by ${called(story, leader ?? '')}: ${parts.join(', ')}`;
}

function joinText(story: Story, member: Member, response: ResponseOf<11>): string {
  const { errorCode, memberId, generationId, leader, members, skipAssignment } = response;
  if (memberId !== '') called(story, memberId);
  if (errorCode === ErrorCode.MEMBER_ID_REQUIRED) member.id = memberId;
  if (errorCode !== ErrorCode.NONE) return `${member.name} may not join: ${errorName(errorCode)}`;
  member.id = memberId;
  member.generation = generationId;
  const led = leader === memberId ? `leads ${members.map((one) => called(story, one.memberId)).join(' ')}` : '';
  const follows = leader === memberId ? led : `is led by ${called(story, leader)}`;
  const skips = skipAssignment ? ', and leaves the assignment as it is' : '';
  return `${called(story, memberId)} is in generation ${generationId}, ${follows}${skips}`;
}

/** What was appended and who was answered since. */
function told(story: Story, answers: readonly string[] = []): string[] {
  const { coordinator, shown } = story;
  story.shown = coordinator.log.length;
  const lines = coordinator.log.slice(shown).map((entry, i) => `${shown + i}  ${recordText(story, entry)}`);
  for (const member of story.members.values()) {
    const { joining, syncing } = member;
    if (joining !== null && joining.response !== null) {
      member.joining = null;
      lines.push(joinText(story, member, joining.response));
    }
    if (syncing !== null && syncing.response !== null) {
      member.syncing = null;
      const { errorCode, assignment } = syncing.response;
      const part = errorCode === ErrorCode.NONE ? `gets ${textOf(assignment) || 'nothing'}` : errorName(errorCode);
      lines.push(`${called(story, member.id)} ${part}`);
    }
  }
  return [...lines, ...answers];
}

function joins(story: Story, command: Command): string[] {
  const member = memberOf(story, command);
  const memberId = command.options.get('as') === 'stranger' ? '' : member.id;
  member.joining = join(story.coordinator, { memberId, groupInstanceId: member.instance, clientId: member.name });
  return told(story);
}

/** `sync a a=p0,p1 b=p2`: the leader shares out. */
function syncs(story: Story, command: Command): string[] {
  const member = memberOf(story, command);
  const shares = [...command.options].map(([name, part]): [string, string] => [
    story.members.get(name)?.id ?? name,
    part,
  ]);
  member.syncing = sync(story.coordinator, member.generation, member.id, shares, { groupInstanceId: member.instance });
  return told(story);
}

function beats(story: Story, command: Command): string[] {
  const { id, generation, instance } = memberOf(story, command);
  const body = { groupId: 'g', generationId: generation, memberId: id, groupInstanceId: instance };
  return told(story, [`answer: ${errorName(ask(story.coordinator, 12, 4, body).errorCode)}`]);
}

function leaves(story: Story, command: Command): string[] {
  const { id, instance } = memberOf(story, command);
  const errors = leave(story.coordinator, { memberId: id, groupInstanceId: instance });
  return told(story, [`answer: ${errors.map(errorName).join(' ')}`]);
}

function commits(story: Story, command: Command): string[] {
  const { id, generation, instance } = memberOf(story, command);
  const said = { memberId: id, generationIdOrMemberEpoch: generation, groupInstanceId: instance };
  const error = commit(story.coordinator, 0, Number(command.options.get('offset')), said);
  return told(story, [`answer: ${errorName(error)}`]);
}

playAll(new URL('./groups/', import.meta.url), {
  opening: 'group',
  begin: () => ({ coordinator: createCoordinator(), members: new Map(), ids: new Map(), shown: 0 }) as Story,
  commands: {
    join: joins,
    sync: syncs,
    beat: beats,
    leave: leaves,
    commit: commits,
    pass: (story, command) => {
      advance(story.coordinator, numberOf(command));
      return told(story);
    },
    'fail-over': ({ coordinator }) => failOver(coordinator),
    show: ({ coordinator }) => [`the group is ${stateOf(coordinator)}`],
  },
});
