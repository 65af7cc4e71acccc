/**
 * The house rules that a parser can check, one function each: a source goes in, findings come out. What they know
 * stands in `tables.ts`. Each is pure, so that `tidy.test.ts` can prove on small texts that it bites.
 */
import ts from 'typescript';
import { type Finding, type Import, importsOf, layerOf, lineAt, parse, type Source, walk } from './source.ts';
import * as tables from './tables.ts';

/** A rule that looks at one file at a time. */
export type Rule = (source: Source) => Finding[];

/** Imports go only downwards, carry `.ts`, and packages stay out of the layers that must do without. */
export const importDirections: Rule = (source) => {
  const layer = layerOf(source.path);
  const allowed = tables.IMPORTS.get(layer);
  if (allowed === undefined) return [at(source, 1, `${layer} is no layer of the architecture`)];
  return importsOf(source).flatMap((found) => {
    const problem =
      found.target === null ? packageProblem(source.path, found) : fileProblem(source.path, layer, allowed, found);
    return problem === null ? [] : [at(source, found.line, problem)];
  });
};

/** Core and the simulator use nothing that differs between engines, runs or machines. */
export const purity: Rule = (source) => {
  const inCore = source.path.startsWith('core/');
  if (!inCore && !source.path.startsWith('runtime-sim/') && !source.path.startsWith('scenarios/')) return [];
  const names = new Map(
    [...tables.BANNED_NAMES, ...(inCore ? tables.BANNED_IN_CORE : [])].map((ban) => [ban.name, ban.instead]),
  );
  const members = new Map(tables.BANNED_MEMBERS.map((ban) => [ban.name, ban.instead]));
  for (const name of tables.NAMES_ALLOWED.get(source.path) ?? []) {
    names.delete(name);
    members.delete(name);
  }
  const findings: Finding[] = [];
  const add = (node: ts.Node, text: string): void => {
    findings.push(at(source, lineAt(source, node.getStart()), text));
  };
  walk(source.tree, (node) => {
    if (ts.isIdentifier(node) && names.has(node.text) && isFree(node)) {
      add(node, `${node.text} is banned: use ${names.get(node.text)}`);
    } else if (ts.isPropertyAccessExpression(node)) {
      const member = node.name.text;
      const math = isNamed(node.expression, 'Math') ? tables.BANNED_MATH.get(member) : undefined;
      if (math !== undefined) add(node, `Math.${member} is banned: use ${math}`);
      if (members.has(member)) add(node, `.${member} is banned: use ${members.get(member)}`);
    } else if (ts.isBinaryExpression(node) && isPower(node.operatorToken.kind)) {
      add(node, '** is banned: use a table; engines differ in the last bit');
    } else if (ts.isForInStatement(node)) {
      add(node, 'for…in is banned: use a Map or an array');
    } else if (inCore && (node.kind === ts.SyntaxKind.AsyncKeyword || ts.isAwaitExpression(node))) {
      add(node, 'async and await are banned: use an effect; a machine runs to its end');
    }
  });
  return findings;
};

/** State is plain data of a machine: no classes, no objects as dictionaries, nothing that a module keeps. */
export const plainState: Rule = (source) => {
  if (!source.path.startsWith('core/')) return [];
  const findings: Finding[] = [];
  const keepsState = tables.MODULE_STATE_ALLOWED.includes(source.path);
  for (const statement of keepsState ? [] : source.tree.statements) {
    if (!ts.isVariableStatement(statement) || (statement.declarationList.flags & ts.NodeFlags.Let) === 0) continue;
    const line = lineAt(source, statement.getStart());
    findings.push(at(source, line, 'state of a module: two nodes would share it; it belongs to a machine'));
  }
  const classes = !startsWithAny(source.path, tables.CLASSES_ALLOWED);
  const dictionaries = !startsWithAny(source.path, tables.DICTIONARIES_ALLOWED);
  walk(source.tree, (node) => {
    const line = lineAt(source, node.getStart());
    if (classes && ts.isClassLike(node)) {
      findings.push(at(source, line, 'a class: state is plain data, and functions take it as their first argument'));
    } else if (dictionaries && ts.isIndexSignatureDeclaration(node)) {
      findings.push(at(source, line, 'an object as a dictionary: use a Map'));
    } else if (dictionaries && ts.isTypeReferenceNode(node) && isNamed(node.typeName, 'Record')) {
      if (node.typeArguments?.[0]?.kind === ts.SyntaxKind.StringKeyword) {
        findings.push(at(source, line, 'an object as a dictionary: use a Map'));
      }
    }
  });
  return findings;
};

/** An assertion has one condition and a message that costs nothing while it holds. */
export const assertions: Rule = (source) => {
  if (!source.path.startsWith('core/')) return [];
  const findings: Finding[] = [];
  walk(source.tree, (node) => {
    if (!ts.isCallExpression(node) || !isNamed(node.expression, 'assert')) return;
    const [condition, message] = node.arguments;
    const line = lineAt(source, node.getStart());
    if (condition && ts.isBinaryExpression(condition)) {
      if (condition.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken) {
        findings.push(at(source, line, 'an assertion of two conditions: write two'));
      }
    }
    if (!message || !ts.isStringLiteralLike(message)) {
      findings.push(at(source, line, 'an assertion without a fixed message: it would be built on every pass'));
    }
  });
  return findings;
};

/** Every export of the product and its tools says what it is. */
export const exportsDocumented: Rule = (source) => {
  if (source.path.startsWith('test/')) return [];
  const documented = new Set<string>();
  const missing: { readonly name: string; readonly line: number }[] = [];
  for (const statement of source.tree.statements) {
    if (!isExported(statement)) continue;
    const hasDoc = ts.getJSDocCommentsAndTags(statement).some((doc) => ts.isJSDoc(doc));
    for (const name of namesOf(statement)) {
      if (hasDoc) documented.add(name);
      else missing.push({ name, line: lineAt(source, statement.getStart()) });
    }
  }
  return missing
    .filter(({ name }) => !documented.has(name))
    .map(({ name, line }) => at(source, line, `export ${name} has no docstring`));
};

/** No default export, no barrel, no `any`. */
export const noDefaultBarrelAny: Rule = (source) => {
  const findings: Finding[] = [];
  // The face of a machine may hand on what its neighbours define; a file that does nothing else is a barrel.
  const barrel = !tables.REEXPORTS_ALLOWED.includes(source.path) && !source.tree.statements.some(isExported);
  walk(source.tree, (node) => {
    const line = lineAt(source, node.getStart());
    if (node.kind === ts.SyntaxKind.AnyKeyword) findings.push(at(source, line, 'any: use unknown, or the type'));
    if (ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword) {
      if (!ts.isCaseOrDefaultClause(node.parent)) findings.push(at(source, line, 'a default export: give it its name'));
    }
    if (barrel && ts.isExportDeclaration(node) && node.moduleSpecifier) {
      findings.push(at(source, line, 'a barrel: import from the file that defines it'));
    }
  });
  return findings;
};

/** A file opens with a doc comment: what it is, its invariants, what a crash does to it. */
export const opensWithComment: Rule = (source) => {
  if (source.path.startsWith('test/')) return [];
  const text = source.text.replace(/^#!.*\n/, '');
  return text.startsWith('/**') ? [] : [at(source, 1, 'the file does not open with a doc comment')];
};

/** Lines, files and functions stay small enough to be read. */
export const sizes: Rule = (source) => {
  const lines = source.text.split('\n');
  const findings: Finding[] = [];
  lines.forEach((line, index) => {
    if (line.length > tables.LINE_LENGTH_MAX) findings.push(at(source, index + 1, `${line.length} characters`));
  });
  if (lines.length - 1 > tables.FILE_LINES_MAX && !tables.LONG_FILES_ALLOWED.includes(source.path)) {
    findings.push(at(source, tables.FILE_LINES_MAX, `the file has ${lines.length - 1} lines`));
  }
  walk(source.tree, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined || isDescribe(node)) return;
    const first = lineAt(source, node.getStart());
    const count = lineAt(source, node.getEnd()) - first + 1;
    if (count > tables.FUNCTION_LINES_MAX) findings.push(at(source, first, `a function of ${count} lines`));
  });
  return findings;
};

/** Nothing is left over: no focused or skipped test, no reminder, no suppressed check. */
export const leftovers: Rule = (source) => {
  const findings: Finding[] = [];
  walk(source.tree, (node) => {
    if (!ts.isPropertyAccessExpression(node)) return;
    if (!['it', 'test', 'describe'].some((name) => isNamed(node.expression, name))) return;
    if (node.name.text !== 'only' && node.name.text !== 'skip') return;
    findings.push(at(source, lineAt(source, node.getStart()), `.${node.name.text}: every test runs`));
  });
  for (const { text, line } of commentsOf(source)) {
    const reminder = /\b(TODO|FIXME|XXX|HACK)\b/.exec(text);
    if (reminder) findings.push(at(source, line, `${reminder[0]} left in a comment: do it, or file an issue`));
    if (/@ts-(ignore|nocheck|expect-error)/.test(text) && !source.path.startsWith('test/')) {
      findings.push(at(source, line, 'a suppressed type error'));
    }
  }
  return findings;
};

/** Files that nothing imports and no script starts. `manifest` is the text of package.json. */
export function deadFiles(sources: readonly Source[], manifest: string): Finding[] {
  const alive = new Set<string>(tables.ENTRIES);
  for (const built of manifest.matchAll(/dist\/([\w./-]+)\.js/g)) alive.add(`${built[1]}.ts`);
  for (const source of sources) {
    for (const { target } of importsOf(source)) if (target !== null && target !== source.path) alive.add(target);
  }
  return sources
    .filter(({ path }) => !path.endsWith('.test.ts') && !alive.has(path))
    .map((source) => at(source, 1, 'nothing imports this file and no script starts it'));
}

/** All by which files may be named: their paths, and each end of them. */
export function endsOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.flatMap((known) => known.split('/').map((_, i, parts) => parts.slice(i).join('/'))));
}

/** Files that the comments of a source, or a page of documentation, name in backquotes and that are not there. */
export function lostNames(path: string, text: string, ends: ReadonlySet<string>): Finding[] {
  if (!/`[^`]*\.ts\b/.test(text)) return [];
  const comments = path.endsWith('.ts') ? commentsOf(parse(path, text)) : [{ text, line: 1 }];
  return comments.flatMap((comment) => {
    return comment.text.split('\n').flatMap((line, i) => {
      const named = [...line.matchAll(/`([^`]+)`/g)].flatMap(
        ([, quoted = '']) => quoted.match(/[\w/-][\w./-]*\.ts\b/g) ?? [],
      );
      const lost = named.filter((name) => !ends.has(name));
      return lost.map((name) => ({ path, line: comment.line + i, text: `${name} is not there` }));
    });
  });
}

/** Every rule that looks at one file, under the name that the test shows. */
export const RULES: ReadonlyMap<string, Rule> = new Map([
  ['imports go downwards and carry their extension', importDirections],
  ['core and the simulator are pure', purity],
  ['state is plain data', plainState],
  ['assertions have one condition and a fixed message', assertions],
  ['every export has a docstring', exportsDocumented],
  ['no default export, no barrel, no any', noDefaultBarrelAny],
  ['a file opens with a doc comment', opensWithComment],
  ['lines, files and functions are small', sizes],
  ['no focused test, no reminder, no suppressed error is left', leftovers],
]);

function at(source: Source, line: number, text: string): Finding {
  return { path: source.path, line, text };
}

function fileProblem(path: string, layer: string, allowed: readonly string[], found: Import): string | null {
  const target = found.target ?? '';
  if (!target.endsWith('.ts')) return `${found.specifier}: a relative import carries .ts`;
  const targetLayer = layerOf(target);
  if (targetLayer === layer || allowed.includes(targetLayer)) return null;
  if (found.typeOnly && tables.TYPE_IMPORTS_ALLOWED.get(path) === target) return null;
  return `${layer} may not import ${targetLayer} (${found.specifier})`;
}

function packageProblem(path: string, found: Import): string | null {
  for (const [prefix, packages] of tables.PACKAGES) {
    if (!path.startsWith(prefix)) continue;
    const name = found.specifier.split('/').slice(0, found.specifier.startsWith('@') ? 2 : 1);
    return packages.includes(name.join('/')) ? null : `${prefix} may not import ${found.specifier}`;
  }
  return null;
}

/** Whether an identifier stands for a value or type of its own, not for a member or a declaration. */
function isFree(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) return parent.name !== node;
  return !ts.isParameter(parent) && !ts.isBindingElement(parent) && !ts.isLiteralTypeNode(parent);
}

function isNamed(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}

function isPower(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.AsteriskAsteriskToken || kind === ts.SyntaxKind.AsteriskAsteriskEqualsToken;
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false;
  return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => declaration.name.getText());
  }
  const name = ts.isDeclarationStatement(statement) ? statement.name : undefined;
  return [name?.getText() ?? statement.getText().slice(0, 40)];
}

/** Whether a function is the body of a `describe`, which is a chapter and not a function. */
function isDescribe(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && node.parent.expression.getText().startsWith('describe');
}

function startsWithAny(path: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => path.startsWith(prefix));
}

/** All comments, found with the scanner so that strings which look like comments are none. */
function commentsOf(source: Source): { readonly text: string; readonly line: number }[] {
  const comments: { readonly text: string; readonly line: number }[] = [];
  const seen = new Set<number>();
  walk(source.tree, (node) => {
    const start = node.getFullStart();
    for (const range of ts.getLeadingCommentRanges(source.text, start) ?? []) {
      if (seen.has(range.pos)) continue;
      seen.add(range.pos);
      comments.push({ text: source.text.slice(range.pos, range.end), line: lineAt(source, range.pos) });
    }
    for (const range of ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []) {
      if (seen.has(range.pos)) continue;
      seen.add(range.pos);
      comments.push({ text: source.text.slice(range.pos, range.end), line: lineAt(source, range.pos) });
    }
  });
  return comments;
}
