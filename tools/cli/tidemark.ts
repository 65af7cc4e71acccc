#!/usr/bin/env node
/**
 * The command `tidemark`. Everything else is in `tidemark/program.ts`, which loads when Node has been told to keep what
 * it compiles: from its second start on a daemon then loads in half the time. Where Node cannot (before 22.8) or may
 * not (a read-only system), the start is only slower.
 */
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };

/** In a folder of this user alone, not in /tmp: compiled code is believed, so nobody else may have put it there. */
function keepCompiled(): void {
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tidemark');
    if (isAbsolute(folder)) enableCompileCache?.(folder);
  } catch {} // A user without a home, as in some containers.
}

keepCompiled();
void import('./tidemark/program.ts').then(({ runProgram }) => runProgram());
