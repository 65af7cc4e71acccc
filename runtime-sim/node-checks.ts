/** What is checked of one node while a run goes on: disk and memory tell the same, and it leads no epoch twice. */
import type { Node } from '../core/broker/node.ts';
import type { Env } from '../core/lib/world.ts';
import type { Disk } from './disk/disk.ts';
import { beginLeadCheck, createLeadCheck, type LeadCheck } from './lead-check.ts';
import { beginLogCheck, checkLogsOnce, createLogCheck, type LogCheck } from './log-check.ts';
import { beginReplayCheck, checkReplay, createReplayCheck, type ReplayCheck } from './replay-check.ts';

/** What the checks of one node remember, across its lives. Plain data. */
export interface NodeChecks {
  readonly replay: ReplayCheck;
  readonly lead: LeadCheck;
  readonly logs: LogCheck;
}

/** Nothing was seen. */
export function createNodeChecks(): NodeChecks {
  return { replay: createReplayCheck(), lead: createLeadCheck(), logs: createLogCheck() };
}

/** A new life of the node. */
export function beginNodeChecks({ replay, lead, logs }: NodeChecks): void {
  beginReplayCheck(replay);
  beginLeadCheck(lead);
  beginLogCheck(logs);
}

/** Looks after a step of the node; for `mayLose` see `checkLogs`. Throws AssertionError for what is wrong. */
export function checkAfterStep({ replay, logs }: NodeChecks, node: Node, disk: Disk, env: Env, mayLose: boolean): void {
  checkReplay(replay, node, disk, env);
  checkLogsOnce(logs, node, disk, mayLose);
}
