/**
 * Puts the daemon, and what the package exports, into a few files each, after the compiler has checked the sources:
 * loading 350 modules one by one cost a start more than everything else together. See docs/decisions/0006.
 *
 *   node dist/tools/build/bundle.js
 *
 * The daemon becomes CommonJS, which Node loads without going through its event loop; packages go in, save those that
 * are loaded at first use by their names. The exports become modules that share what they have in common. A file is
 * put in place whole and only when it differs, so that a daemon may start while this runs.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type InputOptions, type OutputChunk, type OutputOptions, rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Bundle {
  /** Below `dist`. */
  readonly folder: string;
  readonly input: Readonly<{ [name: string]: string }>;
  readonly format: 'cjs' | 'esm';
}

const BUNDLES: readonly Bundle[] = [
  { folder: 'bundle/cli', input: { tidemark: 'tools/cli/tidemark.ts' }, format: 'cjs' },
  {
    folder: 'bundle/library',
    input: { testing: 'tools/testkit/testing.ts', client: 'runtime-real/sdk/client.ts' },
    format: 'esm',
  },
];

/** Of the packages whose code went in, as their licenses ask. */
const LICENSES = 'LICENSES.txt';

async function build({ folder, input, format }: Bundle): Promise<void> {
  const options: InputOptions = { cwd: ROOT, input: { ...input }, platform: 'node', transform: { target: 'es2023' } };
  const extension = format === 'cjs' ? 'cjs' : 'js';
  const shape: OutputOptions = {
    dir: join(ROOT, 'dist', folder),
    format,
    comments: { legal: true, annotation: false, jsdoc: false },
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name].${extension}`,
  };
  const bundle = await rolldown(options);
  const { output } = await bundle.generate(shape);
  await bundle.close();
  const files = new Map<string, string | Uint8Array>();
  for (const item of output) files.set(item.fileName, item.type === 'chunk' ? item.code : item.source);
  const licenses = licensesOf(output.filter((item) => item.type === 'chunk'));
  if (licenses !== '') files.set(LICENSES, licenses);
  place(join(ROOT, 'dist', folder), files);
}

/** The licenses of all packages that modules were taken from, each under its name and version. */
function licensesOf(chunks: readonly OutputChunk[]): string {
  const packages = new Set<string>();
  for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
    const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'));
    if (found !== null) packages.add(found[0]);
  }
  return [...packages].sort().map(licenseOf).join('\n');
}

function licenseOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; version: string };
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${manifest.name} goes into a bundle and brings no license with it`);
  return `${manifest.name} ${manifest.version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

function place(folder: string, files: ReadonlyMap<string, string | Uint8Array>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of files) {
    const path = join(folder, name);
    const bytes = Buffer.from(content);
    if (existsSync(path) && readFileSync(path).equals(bytes)) continue;
    const aside = `${path}.${process.pid}.tmp`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(aside, bytes);
    renameSync(aside, path);
  }
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name), { recursive: true });
  // The age of the entries says how old the bundle is, also when nothing in it has changed.
  const now = new Date();
  for (const name of files.keys()) utimesSync(join(folder, name), now, now);
}

/** npm makes commands executable when it links them, and that once for a folder: what is built later is up to us. */
function makeExecutable(): void {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  for (const path of Object.values(bin)) chmodSync(join(ROOT, path), 0o755);
}

for (const bundle of BUNDLES) await build(bundle);
makeExecutable();
