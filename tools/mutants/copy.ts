/**
 * Copies of the sources that mutants live in: made, patched, type-checked, thrown away. Never the checkout itself.
 *
 * The clean copy is compiled whole, once. A mutant is the clean program with other texts in place of the files that it
 * changes: those are type-checked and compiled anew, and all else is taken over.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { applyHunk, type Mutant } from './patch.ts';

const COPIED = [
  'core',
  'runtime-sim',
  'scenarios',
  'tools/cli/broken-pipe.ts',
  'tools/cli/sim',
  'tools/cli/sim.ts',
  'tsconfig.base.json',
];

/** The clean copy, compiled. */
export interface Workshop {
  /** Its folder. */
  readonly clean: string;
  readonly program: ts.Program;
}

/** Copies the sources from `root` into the new folder `to`, with a compiler configuration of their own. */
export function copySources(root: string, to: string, isAssertionFree: boolean): void {
  mkdirSync(to, { recursive: true });
  for (const path of COPIED) cpSync(join(root, path), join(to, path), { recursive: true });
  rmSync(join(to, 'core/tsconfig.json'), { force: true });
  linkPackages(root, to);
  const compilerOptions = {
    lib: ['ES2023'],
    types: ['node'],
    rootDir: '.',
    outDir: 'dist',
    composite: false,
    declaration: false,
    sourceMap: false,
    noEmitOnError: false,
  };
  const config = { extends: './tsconfig.base.json', compilerOptions, include: ['**/*.ts'], exclude: ['dist'] };
  writeFileSync(join(to, 'tsconfig.json'), JSON.stringify(config));
  if (isAssertionFree) silenceAssertions(to);
}

function linkPackages(root: string, to: string): void {
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'), 'dir');
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }\n');
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

/** Type-checks and compiles the clean copy; what the compiler said where it is not satisfied. */
export function compileClean(clean: string): Workshop | string {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const config = ts.getParsedCommandLineOfConfigFile(join(clean, 'tsconfig.json'), undefined, host);
  if (config === undefined) return 'the configuration of the compiler cannot be read';
  const program = ts.createProgram(config.fileNames, config.options);
  const complaint = textOf([...config.errors, ...ts.getPreEmitDiagnostics(program)], clean);
  if (complaint !== null) return complaint;
  program.emit();
  return { clean, program };
}

/** Puts a compiled mutant into the new folder `to`; what the compiler said, or null if nothing. */
export function compileMutant(root: string, { clean, program }: Workshop, mutant: Mutant, to: string): string | null {
  const texts = new Map<string, string>();
  for (const { file, before, after } of mutant.hunks) {
    const path = join(clean, file);
    texts.set(path, applyHunk(mutant.name, texts.get(path) ?? readFileSync(path, 'utf8'), { file, before, after }));
  }
  const options = program.getCompilerOptions();
  const mutated = ts.createProgram(program.getRootFileNames(), options, hostWith(program, texts), program);
  const changed = [...texts.keys()].map((path) => mutated.getSourceFile(path));
  const complaints = changed.flatMap((source) => [
    ...mutated.getSyntacticDiagnostics(source),
    ...mutated.getSemanticDiagnostics(source),
  ]);
  const complaint = textOf(complaints, clean);
  if (complaint !== null) return complaint;
  mkdirSync(to, { recursive: true });
  cpSync(join(clean, 'dist'), join(to, 'dist'), { recursive: true });
  linkPackages(root, to);
  for (const source of changed) {
    mutated.emit(source, (path, text) => writeFileSync(join(to, path.slice(clean.length)), text));
  }
  return null;
}

/** Reads what a program has read already, but for some files. */
function hostWith(program: ts.Program, texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(program.getCompilerOptions());
  const getSourceFile: ts.CompilerHost['getSourceFile'] = (path, languageVersionOrOptions, ...rest) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, languageVersionOrOptions);
    return program.getSourceFile(path) ?? host.getSourceFile(path, languageVersionOrOptions, ...rest);
  };
  return { ...host, getSourceFile };
}

function textOf(diagnostics: readonly ts.Diagnostic[], folder: string): string | null {
  if (diagnostics.length === 0) return null;
  const lines = diagnostics.map(({ file, messageText }) => {
    const where = file === undefined ? '' : `${file.fileName.slice(folder.length + 1)}: `;
    return where + ts.flattenDiagnosticMessageText(messageText, ' ');
  });
  return lines.join('\n');
}
