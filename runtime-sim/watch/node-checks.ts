/** What is checked of one node while a run goes on: disk and memory tell the same, and it leads no epoch twice. */
import type { Node } from '../../core/broker/node.ts';
import type { Env } from '../../core/lib/world.ts';
import type { Disk } from '../disk/disk.ts';
import {
  beginGroupReplayCheck,
  checkGroupReplays,
  createGroupReplayCheck,
  type GroupReplayCheck,
} from './group-replay-check.ts';
import { beginLeadCheck, createLeadCheck, type LeadCheck } from './lead-check.ts';
import { beginLogCheck, checkLogsOnce, createLogCheck, type LogCheck } from './log-check.ts';
import { beginReplayCheck, checkReplay, createReplayCheck, type ReplayCheck } from './replay-check.ts';

/** What the checks of one node remember, across its lives. Plain data. */
export interface NodeChecks {
  readonly replay: ReplayCheck;
  readonly lead: LeadCheck;
  readonly logs: LogCheck;
  readonly groups: GroupReplayCheck;
}

/** Nothing was seen. */
export function createNodeChecks(): NodeChecks {
  const groups = createGroupReplayCheck();
  return { replay: createReplayCheck(), lead: createLeadCheck(), logs: createLogCheck(), groups };
}

/** A new life of the node. */
export function beginNodeChecks({ replay, lead, logs, groups }: NodeChecks): void {
  beginReplayCheck(replay);
  beginLeadCheck(lead);
  beginLogCheck(logs);
  beginGroupReplayCheck(groups);
}

/** Looks after a step of the node; for `mayLose` see `checkLogs`. Throws AssertionError for what is wrong. */
export function checkAfterStep(
  { replay, logs, groups }: NodeChecks,
  node: Node,
  disk: Disk,
  env: Env,
  mayLose: boolean,
): void {
  checkReplay(replay, node, disk, env);
  checkLogsOnce(logs, node, disk, mayLose);
  checkGroupReplays(groups, node, disk, env);
}
