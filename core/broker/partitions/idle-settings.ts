/**
 * Says, once in the life of a node, that a setting which somebody gave a value does not act yet: at the start for what
 * the image has, later for what is set. One line a name, however many topics have it. A crash forgets what was said.
 */
import type { Outbox } from '../../lib/world.ts';
import { isIdle } from '../../metadata/idle-settings.ts';
import { type ResourceConfig, ResourceType } from '../../metadata/image.ts';
import { say } from '../say.ts';
import type { Node } from '../state.ts';

/** Names that are remembered as said; brokers take any name, so that more must not fill the memory. */
const SAID_MAX = 1_000;

/** Looks at what is set for a resource. */
export function sayIdle(node: Node, { resource, values }: ResourceConfig, out: Outbox): void {
  const { type, name } = resource;
  for (const [setting, value] of values) {
    if (node.saidIdle.has(setting) || node.saidIdle.size >= SAID_MAX || !isIdle(type, setting, value)) continue;
    node.saidIdle.add(setting);
    const fields = new Map([
      ['setting', setting],
      [type === ResourceType.TOPIC ? 'topic' : 'broker', name === '' ? 'all' : name],
    ]);
    say(out, 'warn', 'a setting is kept, but it does not act yet', fields);
  }
}
