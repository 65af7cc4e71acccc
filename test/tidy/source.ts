/**
 * The sources of this repository as syntax trees, for the rules of `rules.ts`. Nothing here knows a rule.
 *
 * Paths are relative to the root and separated by '/'. Built and fetched folders are never entered.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** The folders that hold our code. */
export const FOLDERS = ['core', 'runtime-real', 'runtime-sim', 'scenarios', 'tools', 'test'] as const;

/** One source file, parsed. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

/** What a rule found: where, and what to do instead. `line` counts from 1. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** An import or a re-export: the specifier as written, and the file it names when it is relative. */
export interface Import {
  readonly specifier: string;
  /** The imported file relative to the root, or null for a package. */
  readonly target: string | null;
  readonly typeOnly: boolean;
  readonly line: number;
}

/** Parses one text under a path. */
export function parse(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TS) };
}

/** Every TypeScript file under FOLDERS, sorted by path. `root` ends in '/'. */
export function loadSources(root: string): Source[] {
  const sources: Source[] = [];
  for (const folder of FOLDERS) {
    let names: string[];
    try {
      names = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
    } catch {
      continue;
    }
    for (const name of names.sort()) {
      if (!name.endsWith('.ts') || name.endsWith('.d.ts') || name.includes('node_modules')) continue;
      const path = `${folder}/${name}`;
      sources.push(parse(path, readFileSync(`${root}${path}`, 'utf8')));
    }
  }
  return sources;
}

/** Every page of documentation: at the root and under `docs`. `root` ends in '/'. */
export function loadPages(root: string): { readonly path: string; readonly text: string }[] {
  const names = [
    ...readdirSync(root, { encoding: 'utf8' }),
    ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
  ];
  const pages = names.filter((name) => name.endsWith('.md')).sort();
  return pages.map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }));
}

/** The line of a position in a source, counted from 1. */
export function lineAt(source: Source, position: number): number {
  return source.tree.getLineAndCharacterOfPosition(position).line + 1;
}

/** Calls `visit` on every node of the tree, parents before children. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** All imports and re-exports of a source, dynamic ones and `new URL('./x', import.meta.url)` included. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, typeOnly: boolean, at: ts.Node): void => {
    found.push({ specifier, target: resolve(source.path, specifier), typeOnly, line: lineAt(source, at.getStart()) });
  };
  walk(source.tree, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      add(node.moduleSpecifier.text, node.importClause?.isTypeOnly === true, node);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      add(node.moduleSpecifier.text, node.isTypeOnly, node);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) add(node.argument.literal.text, true, node);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const first = node.arguments[0];
      if (first && ts.isStringLiteral(first)) add(first.text, false, node);
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'URL') {
      const first = node.arguments?.[0];
      if (first && ts.isStringLiteral(first) && /^\.\.?\/.*\.(ts|js)$/.test(first.text)) {
        found.push({
          specifier: first.text,
          target: resolve(source.path, first.text.replace(/\.js$/, '.ts')),
          typeOnly: true,
          line: lineAt(source, node.getStart()),
        });
      }
    }
  });
  return found;
}

/** The layer of a path: the first folder, or the first two under core. */
export function layerOf(path: string): string {
  const parts = path.split('/');
  return parts[0] === 'core' ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** A relative specifier as a path from the root; null for a package. */
function resolve(from: string, specifier: string): string | null {
  if (!specifier.startsWith('.')) return null;
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
