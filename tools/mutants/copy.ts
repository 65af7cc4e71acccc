/** Copies of the sources that mutants live in: made, patched, type-checked, thrown away. Never the checkout itself. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyHunk, type Mutant } from './patch.ts';

const COPIED = ['core', 'runtime-sim', 'scenarios', 'tools/cli/sim', 'tools/cli/sim.ts', 'tsconfig.base.json'];

/** Copies the sources from `root` into the new folder `to`, with a compiler configuration of their own. */
export function copySources(root: string, to: string, isAssertionFree: boolean): void {
  mkdirSync(to, { recursive: true });
  for (const path of COPIED) cpSync(join(root, path), join(to, path), { recursive: true });
  rmSync(join(to, 'core/tsconfig.json'), { force: true });
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'), 'dir');
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }\n');
  const compilerOptions = {
    lib: ['ES2023'],
    types: ['node'],
    rootDir: '.',
    outDir: 'dist',
    composite: false,
    declaration: false,
    sourceMap: false,
    incremental: true,
    tsBuildInfoFile: 'dist/.tsbuildinfo',
    noEmitOnError: true,
  };
  const config = { extends: './tsconfig.base.json', compilerOptions, include: ['**/*.ts'], exclude: ['dist'] };
  writeFileSync(join(to, 'tsconfig.json'), JSON.stringify(config));
  if (isAssertionFree) silenceAssertions(to);
}

/** Without checks no assertion speaks either: only the judges of histories do. */
function silenceAssertions(folder: string): void {
  const path = join(folder, 'core/lib/assert.ts');
  const source = readFileSync(path, 'utf8');
  const speaking = '  if (!condition) throw new AssertionError(message);\n';
  if (!source.includes(speaking))
    throw new Error('core/lib/assert.ts is not what it was: assertions cannot be silenced');
  const silent = '  if (!condition && message.length < 0) throw new AssertionError(message);\n';
  writeFileSync(path, source.replace(speaking, silent));
}

/** Puts a mutant's changes into a copy. */
export function applyMutant(folder: string, mutant: Mutant): void {
  for (const hunk of mutant.hunks) {
    const path = join(folder, hunk.file);
    writeFileSync(path, applyHunk(mutant.name, readFileSync(path, 'utf8'), hunk));
  }
}

/** Type-checks and builds a copy; what the compiler said, or null if nothing. */
export function compile(root: string, folder: string): string | null {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const built = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  return built.status === 0 ? null : `${built.stdout}${built.stderr}`.trim();
}
