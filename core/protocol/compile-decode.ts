/**
 * The text of a decoder: straight-line JavaScript for one version of one message, with every question that a
 * schema asks of a version already answered.
 *
 * One function a struct, named by its path; each returns an object literal with all fields of the schema in order,
 * so that all versions of a message share one hidden class. `compile.ts` turns the text into a function and lends
 * it the names it uses: `fail` and `keep` below, and `NO_BYTES`.
 */
import { type AnyMessage, type Field, type Fields, inRange, isPlaced, isTagged, sizeBytesMin } from './schema.ts';

/** What the text of one struct needs to know. */
interface Scope {
  readonly version: number;
  readonly isFlexible: boolean;
  readonly keepsUnknownTags: boolean;
  readonly functions: string[];
}

type AnyField = Field<unknown, unknown>;

/** The method of a reader for kinds that have no length of their own. */
const SIMPLE = new Set([
  'boolean',
  'int8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'timestamp',
  'float64',
  'uuid',
]);

/** The text of a module that ends in `return read`, where `read(r)` takes a Reader and returns a body. */
export function decoderText(message: AnyMessage, version: number, keepsUnknownTags: boolean): string {
  const isFlexible = inRange(version, message.flexible);
  const scope: Scope = { version, isFlexible, keepsUnknownTags, functions: [] };
  structText(scope, 'read', message.fields);
  const url = `${message.name}.v${version}.decode.js`;
  return `'use strict';\n${scope.functions.join('')}return read;\n//# sourceURL=${url}\n`;
}

/** Capitalizes a field's name, to go on with a path. */
export function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Writes the function that reads one struct, those of its inner structs first. */
function structText(scope: Scope, path: string, fields: Fields): void {
  const lines: string[] = [];
  const tagged: [string, AnyField][] = [];
  for (const [name, item] of Object.entries(fields)) {
    if (isPlaced(item, scope.version)) {
      lines.push(...fieldText(scope, path, name, item, true));
    } else {
      const isKnownTag = isTagged(item, scope.version);
      lines.push(`${isKnownTag ? 'let' : 'const'} $${name} = ${fallbackText(item)};`);
      if (isKnownTag) tagged.push([name, item]);
    }
  }
  if (scope.isFlexible) lines.push(...tagsText(scope, path, tagged));
  const literal = `{ ${Object.keys(fields)
    .map((name) => `${name}: $${name}`)
    .join(', ')} }`;
  if (scope.isFlexible && scope.keepsUnknownTags) {
    lines.push(`const value = ${literal};`, 'if (unknown !== null) value.unknownTags = unknown;', 'return value;');
  } else {
    lines.push(`return ${literal};`);
  }
  scope.functions.push(`function ${path}(r) {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`);
}

/** Lines that leave the value in `$name`, declared here unless it is a tagged field. */
function fieldText(scope: Scope, path: string, name: string, item: AnyField, isNew: boolean): string[] {
  const target = isNew ? `const $${name}` : `$${name}`;
  const isNullable = inRange(scope.version, item.nullable);
  if (item.kind === 'array') return arrayText(scope, path, name, item, isNew, isNullable);
  if (item.kind !== 'struct') return [`${target} = r.${methodOf(scope, item, isNullable)}();`];
  const inner = `${path}${capital(name)}`;
  structText(scope, inner, item.fields ?? {});
  return [`${target} = ${isNullable ? `r.int8() < 0 ? null : ` : ''}${inner}(r);`];
}

function arrayText(
  scope: Scope,
  path: string,
  name: string,
  item: AnyField,
  isNew: boolean,
  isNullable: boolean,
): string[] {
  const element = item.element ?? 'struct';
  const asStruct: AnyField = { ...item, nullable: { since: 1, until: 0 } };
  const sizeMin = Math.max(1, sizeBytesMin(asStruct, element, scope.version, scope.isFlexible));
  let read: string;
  if (element === 'struct') {
    const inner = `${path}${capital(name)}`;
    structText(scope, inner, item.fields ?? {});
    read = `${inner}(r)`;
  } else {
    read = `r.${methodOf(scope, { ...item, kind: element }, false)}()`;
  }
  const method = scope.isFlexible ? 'compactArrayLength' : 'arrayLength';
  const lines = [`const ${name}Length = r.${method}(${sizeMin});`];
  if (!isNullable) lines.push(`if (${name}Length < 0) fail('${name}');`);
  const start = isNullable ? `${name}Length < 0 ? null : []` : '[]';
  lines.push(`${isNew ? 'const ' : ''}$${name} = ${start};`);
  lines.push(`for (let i = 0; i < ${name}Length; i++) $${name}.push(${read});`);
  return lines;
}

function methodOf(scope: Scope, item: AnyField, isNullable: boolean): string {
  if (SIMPLE.has(item.kind)) return item.kind;
  const isCompact = scope.isFlexible && !item.isNeverFlexible;
  const base = item.kind === 'string' ? 'string' : isCompact || isNullable ? 'bytes' : 'bytesField';
  if (isCompact) return isNullable ? `compactNullable${capital(base)}` : `compact${capital(base)}`;
  return isNullable ? `nullable${capital(base)}` : base;
}

/** A fresh default, so that no two bodies share what may change. */
export function fallbackText(item: AnyField): string {
  if (item.fallback === null) return 'null';
  if (item.kind === 'array') return '[]';
  if (item.kind === 'bytes' || item.kind === 'records') return 'NO_BYTES';
  if (item.kind !== 'struct') return JSON.stringify(item.fallback);
  const inner = Object.entries(item.fields ?? {}).map(([name, field]) => `${name}: ${fallbackText(field)}`);
  return `{ ${inner.join(', ')} }`;
}

function tagsText(scope: Scope, path: string, tagged: readonly [string, AnyField][]): string[] {
  if (tagged.length === 0 && !scope.keepsUnknownTags) return ['r.skipTags();'];
  const lines = scope.keepsUnknownTags ? ['let unknown = null;'] : [];
  lines.push('for (let left = r.tagCount(); left > 0; left--) {');
  lines.push('  const tag = r.unsignedVarint();', '  const size = r.unsignedVarint();', '  const start = r.position;');
  lines.push('  switch (tag) {');
  for (const [name, item] of tagged) {
    lines.push(`    case ${item.tag}: {`);
    for (const line of fieldText(scope, path, name, item, false)) lines.push(`      ${line}`);
    lines.push(`      if (r.position - start !== size) fail('${name}');`, '      break;', '    }');
  }
  lines.push(
    scope.keepsUnknownTags ? '    default: unknown = keep(unknown, tag, r.slice(size));' : '    default: r.skip(size);',
  );
  lines.push('  }', '}');
  return lines;
}
