/** How a member of a quorum comes up: its first start, later ones, and folders that something has happened to. */
import { describe, expect, it } from 'vitest';
import { quorumDeadlineMs } from '../../core/coordination/quorum.ts';
import { decodeUtf8, encodeUtf8 } from '../../core/lib/utf8.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { readControls } from '../../core/raft/batches.ts';
import { checkpointName, checkpointOf } from '../../core/raft/names.ts';
import { voterOf } from '../../core/raft/voters.ts';
import {
  ask,
  beginOpen,
  countersOf,
  createQuorumWorld,
  DIRECTORY,
  fileOf,
  format,
  namesIn,
  open,
  putFile,
  type QuorumWorld,
  restart,
  SELF,
  settleAll,
  stepOnce,
  wakeNow,
} from '../coordination/world.ts';

const LOG = '00000000000000000000.log';
const ELECTED = { leaderId: 1, votedId: -1, votedDirectoryId: ZERO_UUID, data_version: 1 };

function quorumState(world: QuorumWorld): unknown {
  const bytes = fileOf(world, 'quorum-state');
  return JSON.parse(decodeUtf8(bytes, 0, bytes.length));
}

/** A world whose log has been cut under two snapshots or more. */
function withSnapshots(): QuorumWorld {
  const world = format(createQuorumWorld({ snapshotBytes: 400 }));
  open(world);
  for (let i = 0; i < 20; i++) ask(world, { name: 'n'.repeat(40), amounts: [1] });
  settleAll(world);
  return world;
}

function checkpoints(world: QuorumWorld): string[] {
  return namesIn(world).filter((name) => checkpointOf(name) !== null);
}

function damage(world: QuorumWorld, name: string, at: number): void {
  const bytes = fileOf(world, name).slice();
  bytes[at] = (bytes[at] as number) ^ 1;
  putFile(world, name, bytes);
}

describe('a first start', () => {
  it('leads epoch 1 and puts into the log who leads and who votes', () => {
    const world = format(createQuorumWorld());
    open(world);
    const { raft } = world.quorum;
    expect([raft.role, raft.epoch, raft.leaderId]).toEqual(['leader', 1, 1]);
    expect(quorumState(world)).toEqual({ ...ELECTED, leaderEpoch: 1 });
    const bytes = fileOf(world, LOG);
    const first = bytes.subarray(0, new DataView(bytes.buffer, bytes.byteOffset).getInt32(8) + 12);
    expect(readControls(first, world.env)).toMatchObject({ kraftVersion: 1, voters: [SELF] });
    expect(namesIn(world)).toContain('partition.metadata');
  });

  it('has the vote on the disk before it is a candidate, and the victory before it leads', () => {
    const world = format(createQuorumWorld());
    const { raft } = world.quorum;
    beginOpen(world);
    const votes: unknown[] = [];
    while (raft.role !== 'leader' && stepOnce(world)) {
      const has = namesIn(world).includes('quorum-state');
      if (raft.epoch > 0) expect(has).toBe(true);
      if (raft.role === 'candidate') votes.push(quorumState(world));
    }
    expect(votes[0]).toEqual({
      leaderId: -1,
      leaderEpoch: 1,
      votedId: 1,
      votedDirectoryId: DIRECTORY,
      data_version: 1,
    });
    expect(quorumState(world)).toEqual({ ...ELECTED, leaderEpoch: 1 });
  });

  it('knows no high watermark before a batch of its own epoch is synced, though older ones are', () => {
    const world = format(createQuorumWorld());
    open(world);
    ask(world, {});
    restart(world, 'process');
    const { raft } = world.quorum;
    const synced = (): boolean => world.disk.done.some(({ kind }, i) => kind === 'sync' && i > from);
    let from = Infinity;
    beginOpen(world);
    while (raft.highWatermark < 0 && stepOnce(world)) {
      if (raft.lead !== null && from === Infinity) from = world.disk.done.length;
      if (!synced()) expect(raft.highWatermark).toBe(-1);
    }
    expect(raft.highWatermark).toBe(raft.lead?.epochStartNext);
  });

  it('without a bootstrap snapshot needs voters from the configuration, and is then at kraft.version 0', () => {
    const world = createQuorumWorld();
    expect(open(world)[0]).toMatch(/^no voters are known/);
    const fixed = createQuorumWorld({ staticVoters: [voterOf(1, ZERO_UUID, [])] });
    expect(open(fixed)).toEqual(['active']);
    expect(quorumState(fixed)).toEqual({
      ...{ clusterId: '', leaderId: 1, leaderEpoch: 1, votedId: -1 },
      ...{ appliedOffset: 0, currentVoters: [{ voterId: 1 }], data_version: 0 },
    });
  });

  it('goes on from wherever an earlier one was interrupted', () => {
    for (let steps = 1; ; steps++) {
      const world = format(createQuorumWorld());
      beginOpen(world);
      let left = steps;
      while (left > 0 && stepOnce(world)) left--;
      if (left > 0) break;
      restart(world, 'power');
      open(world);
      expect(countersOf(world), `after ${steps} steps`).toEqual(new Map([['first', 1]]));
      const { raft } = world.quorum;
      restart(world, 'power');
      open(world);
      expect(world.quorum.raft.epoch).toBeGreaterThan(raft.epoch);
    }
  });
});

describe('a later start', () => {
  it('leads a newer epoch, and names the voters no second time', () => {
    const world = format(createQuorumWorld());
    open(world);
    const before = fileOf(world, LOG).length;
    restart(world, 'process');
    open(world);
    expect(world.quorum.raft.epoch).toBe(2);
    const second = fileOf(world, LOG).subarray(before);
    expect(readControls(second, world.env)).toMatchObject({ kraftVersion: null, voters: null });
  });

  it('leads an epoch above the log even where quorum-state was lost', () => {
    const world = format(createQuorumWorld());
    for (let i = 0; i < 3; i++) {
      open(world);
      restart(world, 'process');
    }
    world.disk.names.delete('/data/__cluster_metadata-0/quorum-state');
    open(world);
    expect(world.quorum.raft.epoch).toBe(4);
  });

  it('leads an epoch above a vote that was cast in vain', () => {
    const world = format(createQuorumWorld());
    const vote = { leaderId: -1, leaderEpoch: 41, votedId: 1, votedDirectoryId: DIRECTORY, data_version: 1 };
    putFile(world, 'quorum-state', encodeUtf8(JSON.stringify(vote)));
    open(world);
    expect(world.quorum.raft.epoch).toBe(42);
  });

  it('cuts a torn tail and keeps what was answered', () => {
    const world = format(createQuorumWorld());
    open(world);
    ask(world, { amounts: [7] });
    const bytes = fileOf(world, LOG);
    const torn = new Uint8Array(bytes.length + 30);
    torn.set(bytes);
    putFile(world, LOG, torn);
    restart(world, 'process');
    open(world);
    expect(world.reached).toContain('log.recovery.torn_tail');
    expect(countersOf(world).get('a')).toBe(7);
  });
});

describe('a folder that cannot be served', () => {
  it('of another voter, directory or more voters than may be is refused by name', () => {
    const strangers = [voterOf(1, 'AAAAAAAAAAAAAAAAAAAABQ', []), voterOf(2, DIRECTORY, [])];
    for (const stranger of strangers) {
      expect(open(format(createQuorumWorld(), [stranger]))[0]).toMatch(/is no voter of the quorum/);
    }
    const others = Array.from({ length: 9 }, (_, i) => voterOf(i + 2, DIRECTORY, []));
    expect(open(format(createQuorumWorld(), [SELF, ...others]))[0]).toMatch(/has 10 voters; at most 9 are served/);
  });

  it('with a broken or newer quorum-state is refused, lest a vote be forgotten', () => {
    for (const text of ['{', '7', '{"data_version":2}', '{"data_version":1,"leaderId":1}']) {
      const world = format(createQuorumWorld());
      putFile(world, 'quorum-state', encodeUtf8(text));
      expect(open(world)[0], text).toMatch(/quorum-state/);
    }
  });

  it('with damage behind the snapshot is refused, and said where', () => {
    const world = format(createQuorumWorld());
    open(world);
    ask(world, { amounts: [7] });
    const { durable } = world.quorum.raft.log;
    damage(world, LOG, 100);
    restart(world, 'process');
    expect(open(world, false, durable)[0]).toMatch(/damaged at offset 0, and this node is the only voter/);
  });

  it('is left as it was but for the quorum itself', () => {
    const world = withSnapshots();
    ask(world, { name: 'poison' });
    const extra = '00000000000000000001-0000000001.checkpoint';
    putFile(world, extra, fileOf(world, checkpoints(world)[0] as string));
    const before = checkpoints(world);
    restart(world, 'process');
    expect(open(world)).toEqual(['a poisoned log']);
    expect(checkpoints(world)).toEqual(before);
  });
});

describe('snapshots', () => {
  it('are kept in twos, and the log from the older one on', () => {
    const world = withSnapshots();
    const { raft } = world.quorum;
    expect(checkpoints(world)).toHaveLength(2);
    expect(raft.snapshots).toHaveLength(2);
    expect(raft.log.start).toBe(raft.snapshots[0]?.endOffset);
    expect(raft.log.start).toBeGreaterThan(0);
    expect(namesIn(world)).not.toContain(LOG);
    restart(world, 'process');
    open(world);
    expect(countersOf(world).get('n'.repeat(40))).toBe(20);
    expect(world.quorum.raft.log.start).toBeGreaterThanOrEqual(raft.log.start);
  });

  it('name the voters, so that a log cut under them need not', () => {
    const world = withSnapshots();
    restart(world, 'process');
    open(world);
    expect(world.quorum.raft.quorum).toEqual({ kraftVersion: 1, voters: [SELF] });
  });

  it('that are damaged or lost give way to the one before', () => {
    for (const loss of ['bit', 'short', 'gone', 'empty'] as const) {
      const world = withSnapshots();
      const newest = checkpoints(world).at(-1) as string;
      const bytes = fileOf(world, newest);
      if (loss === 'bit') damage(world, newest, 200);
      if (loss === 'short') putFile(world, newest, bytes.slice(0, -20));
      if (loss === 'empty') putFile(world, newest, new Uint8Array(0));
      if (loss === 'gone') world.disk.names.delete(`/data/__cluster_metadata-0/${newest}`);
      restart(world, 'process');
      open(world);
      expect(countersOf(world).get('n'.repeat(40)), loss).toBe(20);
      if (loss !== 'gone') expect(world.said).toMatchObject([{ level: 'error' }]);
      ask(world, { amounts: [1] });
    }
  });

  it('may end behind the log, as one that was fetched does: what it holds is not said to be damaged', () => {
    const world = withSnapshots();
    const { endOffset } = world.quorum.raft.snapshots.at(-1) as { endOffset: number };
    for (const name of namesIn(world).filter((one) => one.endsWith('.log'))) {
      if (Number(name.slice(0, 20)) >= endOffset) world.disk.names.delete(`/data/__cluster_metadata-0/${name}`);
      else putFile(world, name, new Uint8Array(0));
    }
    restart(world, 'process');
    open(world);
    expect(world.said.filter((line) => line.kind === 'say' && line.level !== 'info')).toMatchObject([
      { level: 'warn' },
    ]);
    expect(world.quorum.raft.log.end).toBeGreaterThanOrEqual(endOffset);
    ask(world, { amounts: [1] });
  });

  it('that are damaged and written anew under their names stay, and are there when the next one is damaged', () => {
    const world = withSnapshots();
    world.nowMs = quorumDeadlineMs(world.quorum);
    wakeNow(world);
    settleAll(world);
    const newest = checkpoints(world).at(-1) as string;
    damage(world, newest, 200);
    restart(world, 'process');
    open(world);
    settleAll(world);
    expect(world.quorum.raft.snapshots.map(checkpointName)).toContain(newest);
    for (let i = 0; checkpoints(world).at(-1) === newest && i < 20; i++) ask(world, { amounts: [1] });
    settleAll(world);
    expect(checkpoints(world)).toHaveLength(2);
    expect(checkpoints(world)[0]).toBe(newest);
    damage(world, checkpoints(world)[1] as string, 200);
    restart(world, 'process');
    open(world);
    expect(countersOf(world).get('n'.repeat(40))).toBe(20);
  });

  it('stand alone where the one before is damaged, and then the log stays whole until there are two', () => {
    const world = format(createQuorumWorld());
    open(world);
    ask(world, { amounts: [7] });
    const [bootstrap] = checkpoints(world) as [string];
    damage(world, bootstrap, 100);
    restart(world, 'process');
    open(world);
    for (let i = 0; checkpoints(world).at(-1) === bootstrap && i < 100; i++) {
      ask(world, { name: 'n'.repeat(40), amounts: [1] });
      world.nowMs = Math.min(quorumDeadlineMs(world.quorum), world.nowMs + 1_000_000);
      wakeNow(world);
      settleAll(world);
    }
    const counted = countersOf(world).get('n'.repeat(40));
    const only = checkpoints(world).at(-1) as string;
    expect(checkpoints(world)).toEqual([only]);
    expect(world.quorum.raft.log.start).toBe(0);
    damage(world, only, 200);
    restart(world, 'process');
    open(world);
    expect(countersOf(world).get('n'.repeat(40))).toBe(counted);
  });

  it('that are all gone end the node and leave the log alone, which does not reach back far enough', () => {
    for (const loss of ['damaged', 'gone'] as const) {
      const world = withSnapshots();
      for (const name of checkpoints(world)) {
        if (loss === 'damaged') damage(world, name, 100);
        else world.disk.names.delete(`/data/__cluster_metadata-0/${name}`);
      }
      const logs = namesIn(world).filter((name) => name.endsWith('.log'));
      // How far it was synced is written down once in a while; without that a snapshot that is damaged is proof enough.
      const recoveryPoint = loss === 'gone' ? world.quorum.raft.log.durable : 0;
      restart(world, 'process');
      expect(open(world, false, recoveryPoint)[0]).toMatch(
        /begins at offset \d+, but the newest snapshot that can be read ends at 0/,
      );
      expect(namesIn(world).filter((name) => name.endsWith('.log'))).toEqual(logs);
    }
  });

  it('need not be there where nothing of the log was ever synced: the disk was an empty one', () => {
    const stray = '00000000000000000040.log';
    const world = createQuorumWorld();
    putFile(world, stray, new Uint8Array(0));
    expect(open(world)[0]).toMatch(/^no voters are known/);
    expect(namesIn(world)).not.toContain(stray);
  });

  it('may be followed by what a power loss left of a log that was never synced, its head without a name', () => {
    const stray = '00000000000000000005.log';
    for (const recoveryPoint of [0, 5]) {
      const world = format(createQuorumWorld());
      putFile(world, stray, new Uint8Array(0));
      const events = open(world, false, recoveryPoint);
      if (recoveryPoint < 5) expect(events).toEqual(['active', 'changed']);
      else expect(events[0]).toMatch(/begins at offset 5, but the newest snapshot that can be read ends at 0/);
      expect(namesIn(world).includes(stray)).toBe(recoveryPoint === 5);
    }
  });

  it('are written after a time too, if anything was appended since', () => {
    const world = format(createQuorumWorld());
    open(world);
    ask(world, { amounts: [7] });
    const deadlineMs = quorumDeadlineMs(world.quorum);
    expect(deadlineMs).toBeLessThan(Infinity);
    world.nowMs = deadlineMs - 1;
    wakeNow(world);
    settleAll(world);
    expect(checkpoints(world)).toHaveLength(1);
    world.nowMs = deadlineMs;
    wakeNow(world);
    settleAll(world);
    expect(checkpoints(world)).toHaveLength(2);
    expect(quorumDeadlineMs(world.quorum)).toBe(Infinity);
  });

  it('are given up on a full disk, and tried again later', () => {
    const world = format(createQuorumWorld({ snapshotBytes: 400 }));
    open(world);
    world.disk.fault = (effect) => (effect.kind === 'open' && effect.path.endsWith('.part') ? 'noSpace' : null);
    for (let i = 0; i < 10; i++) ask(world, { amounts: [1] });
    settleAll(world);
    expect(checkpoints(world)).toHaveLength(1);
    expect(world.reached).toContain('raft.snapshot.given_up');
    world.disk.fault = () => null;
    for (let i = 0; i < 10; i++) ask(world, { amounts: [1] });
    settleAll(world);
    expect(checkpoints(world)).toHaveLength(2);
  });

  it('take the place of a whole log that was lost below them', () => {
    const world = withSnapshots();
    for (const name of namesIn(world)) {
      if (/\.(log|index|timeindex|snapshot)$/.test(name)) world.disk.names.delete(`/data/__cluster_metadata-0/${name}`);
    }
    const newest = checkpointOf(checkpoints(world).at(-1) as string);
    restart(world, 'process');
    open(world);
    expect(world.quorum.raft.log.end).toBeGreaterThan(newest?.endOffset ?? 0);
    expect(countersOf(world).get('n'.repeat(40))).toBeGreaterThan(10);
  });
});
