/** One machine on the log of a quorum of one: nobody hears of what is not committed, and nothing committed is lost. */
import { describe, expect, it } from 'vitest';
import { beginLoad, createCoordinator, loadEntries, PARKED_MAX } from '../../core/coordination/coordinator.ts';
import { encodeUtf8 } from '../../core/lib/utf8.ts';
import type { DiskEffect } from '../../core/lib/world.ts';
import { TALLY, type TallyShapes } from './tally.ts';
import {
  ask,
  beginOpen,
  countersOf,
  createQuorumWorld,
  FOLDER,
  format,
  open,
  type QuorumWorld,
  restart,
  settleAll,
  stepOnce,
  stopCleanly,
  submit,
  wake,
} from './world.ts';

function started(snapshotBytes = Infinity): QuorumWorld {
  const world = format(createQuorumWorld({ snapshotBytes }));
  open(world);
  return world;
}

const isLogAppend = (effect: DiskEffect): boolean => effect.kind === 'append' && effect.parts.length > 0;

describe('a machine that becomes active', () => {
  it('begins a new log with what the bootstrap snapshot asks for', () => {
    const world = format(createQuorumWorld());
    expect(open(world)).toEqual(['active', 'changed']);
    expect(countersOf(world)).toEqual(new Map([['first', 1]]));
  });

  it('takes the bootstrap snapshot for nothing once the log holds records', () => {
    const world = started();
    restart(world, 'process');
    expect(open(world)).toEqual(['active']);
    expect(countersOf(world)).toEqual(new Map([['first', 1]]));
  });

  it('refuses requests until it is loaded', () => {
    const world = format(createQuorumWorld());
    beginOpen(world);
    expect(submit(world, {})).toEqual({ kind: 'refused', reason: 'inactive' });
  });

  it('stops the node if the log cannot be served', () => {
    const world = started();
    expect(ask(world, { name: 'poison' })).toBe(1);
    restart(world, 'process');
    expect(open(world)).toEqual(['a poisoned log']);
  });

  it('loads nothing that has a record which cannot be read, wherever it stands', () => {
    const place = { baseOffset: 0, nextOffset: 3, leaderEpoch: 1, timestampMs: 0 };
    for (const texts of [['damaged'], ['a 1', 'damaged', 'a 2']]) {
      const coordinator = createCoordinator<TallyShapes, string>();
      beginLoad(coordinator, TALLY);
      const entries = texts.map((text) => encodeUtf8(text));
      expect(loadEntries(coordinator, TALLY, entries, place, false, [])).toBe('no record of the tally');
      expect(coordinator.committed).toBeNull();
    }
  });
});

describe('a request', () => {
  it('is answered only after its records are synced, and the change is told before', () => {
    const world = started();
    expect(submit(world, { amounts: [2, 3] }, 9)).toEqual({ kind: 'parked', response: 5 });
    while (!world.disk.done.some((effect) => effect.kind === 'sync' && world.disk.queue.length === 0)) {
      expect(world.events).toEqual([]);
      if (!stepOnce(world)) break;
    }
    settleAll(world);
    expect(world.events).toMatchObject([
      { kind: 'changed', change: ['a', 'a'] },
      { kind: 'answered', waiter: 9, response: 5 },
    ]);
  });

  it('sees what was appended before it though nobody was told yet', () => {
    const world = started();
    submit(world, { amounts: [2] }, 1);
    submit(world, { amounts: [3] }, 2);
    settleAll(world);
    const answers = world.events.filter((event) => event.kind === 'answered');
    expect(answers).toMatchObject([{ response: 2 }, { response: 5 }]);
  });

  it('that only reads waits for what it saw, and for nothing if all of that is committed', () => {
    const world = started();
    submit(world, { amounts: [2] }, 1);
    expect(submit(world, { amounts: [] }, 2)).toEqual({ kind: 'parked', response: 2 });
    settleAll(world);
    expect(world.events.at(-1)).toEqual({ kind: 'answered', waiter: 2, response: 2, nextOffset: 5 });
    expect(submit(world, { amounts: [] }, 3)).toEqual({ kind: 'answered', response: 2 });
  });

  it('that is refused by the machine appends nothing', () => {
    const world = started();
    const end = world.quorum.raft.log.end;
    expect(submit(world, { amounts: [-1] })).toEqual({ kind: 'answered', response: -1 });
    expect(world.quorum.raft.log.end).toBe(end);
  });

  it('with many records is split unless it is atomic, and refused where it does not fit', () => {
    const world = started();
    const amounts = new Array<number>(5000).fill(1);
    const batches = () => world.disk.done.filter(isLogAppend).length;
    const before = batches();
    expect(ask(world, { name: 'split', amounts, isAtomic: false })).toBe(5000);
    expect(batches() - before).toBeGreaterThan(2);
    const name = 'n'.repeat(10_000);
    const large = submit(world, { name, amounts: new Array<number>(1000).fill(1) });
    expect(large).toEqual({ kind: 'refused', reason: 'tooLarge' });
    expect(countersOf(world).has(name)).toBe(false);
  });

  it('is refused when too many wait', () => {
    const world = started();
    submit(world, {}, 0);
    for (let i = 1; i < PARKED_MAX; i++) submit(world, { amounts: [] }, i);
    expect(submit(world, { amounts: [] })).toEqual({ kind: 'refused', reason: 'busy' });
  });
});

describe('an append that fails', () => {
  it('drops the live state, tells those who wait, and loads what is committed in a new epoch', () => {
    const world = started();
    expect(ask(world, { amounts: [2] })).toBe(2);
    world.disk.fault = (effect) => (isLogAppend(effect) ? 'noSpace' : null);
    submit(world, { amounts: [5] }, 1);
    submit(world, { amounts: [6] }, 2);
    settleAll(world);
    expect(world.events.splice(0)).toEqual([
      { kind: 'inactive' },
      { kind: 'lost', waiter: 1 },
      { kind: 'lost', waiter: 2 },
    ]);
    expect(submit(world, {})).toEqual({ kind: 'refused', reason: 'inactive' });
    world.disk.fault = () => null;
    const epoch = world.quorum.raft.epoch;
    wake(world);
    settleAll(world);
    expect(world.events.splice(0).map(({ kind }) => kind)).toEqual(['active']);
    expect(world.quorum.raft.epoch).toBe(epoch + 1);
    expect(ask(world, { amounts: [1] })).toBe(3);
  });

  it('keeps trying while even the vote finds no room', () => {
    const world = started();
    world.disk.fault = (effect) => (isLogAppend(effect) || effect.kind === 'replace' ? 'noSpace' : null);
    submit(world, { amounts: [5] }, 1);
    settleAll(world);
    for (let i = 0; i < 5; i++) {
      wake(world);
      settleAll(world);
    }
    expect(world.reached).toContain('raft.election.no_space');
    expect(world.quorum.raft.role).toBe('resigned');
    world.disk.fault = () => null;
    wake(world);
    settleAll(world);
    expect(ask(world, { amounts: [1] })).toBe(1);
  });

  it('ends the node if the device itself failed', () => {
    const world = started();
    world.disk.fault = (effect) => (effect.kind === 'sync' ? 'io' : null);
    submit(world, {}, 4);
    settleAll(world);
    expect(world.events).toMatchObject([{ kind: 'inactive' }, { kind: 'lost', waiter: 4 }, { kind: 'failed' }]);
    expect(submit(world, {})).toEqual({ kind: 'refused', reason: 'inactive' });
  });
});

describe('a stop', () => {
  it('that is clean loses nothing and tells those who wait', () => {
    const world = started();
    expect(ask(world, { amounts: [2] })).toBe(2);
    const recoveryPoint = stopCleanly(world);
    expect(open(world, true, recoveryPoint)).toEqual(['active']);
    expect(ask(world, { amounts: [1] })).toBe(3);
    expect(world.reached).not.toContain('log.recovery.dirty_clean');
  });

  it('by a loss of power keeps what was answered', () => {
    const world = started();
    expect(ask(world, { amounts: [2] })).toBe(2);
    submit(world, { amounts: [40] }, 1);
    restart(world, 'power');
    open(world);
    expect([2, 42]).toContain(countersOf(world).get('a'));
    expect(world.disk.folders).toContain(FOLDER);
  });
});
