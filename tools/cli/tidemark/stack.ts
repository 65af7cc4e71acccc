/**
 * Stack traces that name the sources. The daemon runs from a bundle, and Node names the sources by itself only when it
 * reads every map at every start; here a map is read when there is a trace to tell.
 */
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A place in a trace: a file of ours in its two spellings, line and column, both counted from 1. */
const PLACE = /(file:\/\/\/[^\s()]+?\.c?js|(?:[A-Za-z]:)?[\\/][^():\n]+?\.c?js):(\d+):(\d+)/g;

/** The text with every place that a map beside its file knows replaced by that of the source, below the project. */
export function withSources(text: string): string {
  const maps = new Map<string, SourceMap | null>();
  return text.replace(PLACE, (place: string, file: string, line: string, column: string) => {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file;
    const map = maps.get(path) ?? readMap(`${path}.map`);
    maps.set(path, map);
    const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !('originalSource' in entry)) return place;
    const source = entry.originalSource.replace(/^(\.\.?\/)+/, '');
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

/** Null if there is none: not every file was built from another. */
function readMap(path: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload);
  } catch {
    return null;
  }
}
