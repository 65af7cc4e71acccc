#!/usr/bin/env node
/**
 * The command `tidemark`. Everything else is in `tidemark/program.ts`, which loads when Node has been told to keep what
 * it compiles: from its second start on a daemon then loads in half the time. Where Node cannot (before 22.8) or may
 * not (a read-only system), the start is only slower.
 */
import * as nodeModule from 'node:module';

const { enableCompileCache } = nodeModule as { enableCompileCache?: () => unknown };
enableCompileCache?.();

void import('./tidemark/program.ts').then(({ runProgram }) => runProgram());
