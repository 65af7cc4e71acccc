/** The checks of a large node: what is broken is found within one turn, and no check looks at everything. */
import { describe, expect, it } from 'vitest';
import { checkNode, checkSlice } from '../../core/broker/check.ts';
import { GROUP_KEY, hostsOf, joinBody, withTopic } from './grouping.ts';
import { ToyWorld } from './toy-world.ts';

describe('the check of a slice', () => {
  it('finds a broken log once its turn comes, and then again in the next turn', () => {
    const { node } = new ToyWorld({ 'tidemark.topics': 'orders:400' }).start();
    const turn = Math.ceil(node.ids.owner / 256);
    expect(turn).toBeGreaterThan(1);
    for (let i = 0; i < 3 * turn; i++) checkSlice(node);
    const log = node.topics.byName.get('orders')?.partitions.at(-1)?.log;
    if (log === undefined) throw new Error('the last partition is there');
    log.start = log.end + 1;
    expect(() => checkNode(node)).toThrow('the start is not behind the end');
    let found = 0;
    for (let i = 0; i < 2 * turn; i++) {
      try {
        checkSlice(node);
      } catch {
        found += 1;
        node.checkOwner = 0; // As a turn that came to its end.
      }
    }
    expect(found).toBe(2);
  });
});

describe('the check of a node', () => {
  /** A node with a group that has one member, whose coordinator it hosts. */
  function withMember() {
    const { world, client } = withTopic();
    world.send(client, GROUP_KEY.joinGroup, 2, joinBody('g'));
    world.pass(5);
    expect(world.take(client, GROUP_KEY.joinGroup, 2).errorCode).toBe(0);
    for (const { coordinator } of hostsOf(world.node)) {
      const group = coordinator.state?.groups.get('g');
      if (group?.kind === 'classic') return { world, client, group };
    }
    throw new Error('the group is hosted');
  }

  it('sees into groups, and so does that of a slice', () => {
    const { world, group } = withMember();
    checkNode(world.node);
    group.heldBytes += 1;
    expect(() => checkNode(world.node)).toThrow('what members say of themselves is counted');
    expect(() => checkSlice(world.node)).toThrow('what members say of themselves is counted');
  });

  it('counts what waits for other members', () => {
    const { world, client } = withMember();
    // Its second member waits for the first to join again.
    world.send(client, GROUP_KEY.joinGroup, 2, joinBody('g'));
    expect(world.node.groups.waitingBytes).toBeGreaterThan(0);
    checkNode(world.node);
    world.node.groups.waitingBytes += 1;
    expect(() => checkNode(world.node)).toThrow('what waits for other members does not add up');
  });
});
