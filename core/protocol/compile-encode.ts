/**
 * The text of an encoder: two functions a struct for one version of one message, `size…` and `write…`.
 *
 * `size` counts the bytes of everything but records, which travel as views, and refuses a value that the version
 * has no place for; `write` then fills a buffer of just that size. `compile.ts` turns the text into functions and
 * lends the names it uses. Both walk the fields in the same order and ask the same questions: a difference shows
 * at once, because a writer must end exactly at the end of its buffer.
 */
import { capital, fallbackText } from './compile-decode.ts';
import { type AnyMessage, FIXED_BYTES, type Field, type Fields, inRange, isPlaced, isTagged } from './schema.ts';

interface Scope {
  readonly version: number;
  readonly isFlexible: boolean;
  readonly keepsUnknownTags: boolean;
  readonly functions: string[];
  readonly written: Set<string>;
}

type AnyField = Field<unknown, unknown>;

/** The text of a module that ends in `return { size, write }`: `size(m)` and `write(w, m)`. */
export function encoderText(message: AnyMessage, version: number, keepsUnknownTags: boolean): string {
  const isFlexible = inRange(version, message.flexible);
  const scope: Scope = { version, isFlexible, keepsUnknownTags, functions: [], written: new Set() };
  structText(scope, '', message.fields);
  const url = `${message.name}.v${version}.encode.js`;
  return `'use strict';\n${scope.functions.join('')}return { size, write };\n//# sourceURL=${url}\n`;
}

function functionText(name: string, parameters: string, lines: readonly string[]): string {
  return `function ${name}(${parameters}) {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;
}

function structText(scope: Scope, path: string, fields: Fields): void {
  const sizes = ['let n = 0;'];
  const writes: string[] = [];
  const tagged: [string, AnyField][] = [];
  let fixed = 0;
  for (const [name, item] of Object.entries(fields)) {
    if (!isPlaced(item, scope.version)) {
      if (isTagged(item, scope.version)) tagged.push([name, item]);
      else if (!item.isIgnorable)
        sizes.push(`if (!(${defaultTest(scope, path, name, item, `m.${name}`)})) absent('${name}');`);
      continue;
    }
    const given = item.isOptional ? `m.${name} === undefined ? ${fallbackText(item)} : m.${name}` : `m.${name}`;
    const bytes = FIXED_BYTES.get(item.kind);
    if (bytes === undefined) {
      sizes.push(`const $${name} = ${given};`, ...refuseNull(scope, name, item));
      sizes.push(`n += ${sizeOf(scope, path, name, item, `$${name}`)};`);
      writes.push(`const $${name} = ${given};`, writeOf(scope, path, name, item, `$${name}`));
    } else {
      fixed += bytes;
      writes.push(`w.${item.kind}(${given});`);
    }
  }
  if (scope.isFlexible) addTags(scope, path, tagged, sizes, writes);
  sizes[0] = `let n = ${fixed};`;
  sizes.push('return n;');
  scope.functions.push(functionText(`size${path}`, 'm', sizes), functionText(`write${path}`, 'w, m', writes));
}

function refuseNull(scope: Scope, name: string, item: AnyField): string[] {
  const isEverNull = item.nullable.since <= item.nullable.until;
  return isEverNull && !inRange(scope.version, item.nullable) ? [`if ($${name} === null) notNull('${name}');`] : [];
}

/** Makes sure that the functions of an inner struct exist; their path. */
function innerPath(scope: Scope, path: string, name: string, fields: Fields): string {
  const inner = `${path}${capital(name)}`;
  if (!scope.written.has(inner)) {
    scope.written.add(inner);
    structText(scope, inner, fields);
  }
  return inner;
}

/** An expression for the bytes of a value, records excluded. */
function sizeOf(scope: Scope, path: string, name: string, item: AnyField, value: string): string {
  const isCompact = scope.isFlexible && !item.isNeverFlexible;
  const isNullable = inRange(scope.version, item.nullable);
  const fixed = FIXED_BYTES.get(item.kind);
  if (fixed !== undefined) return String(fixed);
  switch (item.kind) {
    case 'string':
      return isCompact ? `compactStringSize(${value})` : `stringSize(${value})`;
    case 'bytes':
      return isCompact ? `compactBytesSize(${value})` : `bytesSize(${value})`;
    case 'records':
      return isCompact ? `compactCutSize(${value})` : '4';
    case 'struct': {
      const inner = innerPath(scope, path, name, item.fields ?? {});
      return isNullable ? `(${value} === null ? 1 : 1 + size${inner}(${value}))` : `size${inner}(${value})`;
    }
    default:
      return arraySizeOf(scope, path, name, item, value);
  }
}

function arraySizeOf(scope: Scope, path: string, name: string, item: AnyField, value: string): string {
  const helper = `size${path}${capital(name)}Array`;
  if (!scope.written.has(helper)) {
    scope.written.add(helper);
    const element = item.element ?? 'struct';
    const fixed = FIXED_BYTES.get(element);
    const lines = [`if (a === null) return ${scope.isFlexible ? 1 : 4};`];
    const length = scope.isFlexible ? 'varintSize(a.length + 1)' : '4';
    if (fixed !== undefined) {
      lines.push(`return ${length} + a.length * ${fixed};`);
    } else {
      const asElement: AnyField = { ...item, kind: element, nullable: { since: 1, until: 0 } };
      lines.push(`let n = ${length};`);
      lines.push(
        `for (let i = 0; i < a.length; i++) n += ${sizeOf(scope, path, name, asElement, 'a[i]')};`,
        'return n;',
      );
    }
    scope.functions.push(functionText(helper, 'a', lines));
  }
  return `${helper}(${value})`;
}

/** A statement that writes a value. */
function writeOf(scope: Scope, path: string, name: string, item: AnyField, value: string): string {
  const isNullable = inRange(scope.version, item.nullable);
  if (FIXED_BYTES.has(item.kind)) return `w.${item.kind}(${value});`;
  if (item.kind === 'struct') {
    const inner = innerPath(scope, path, name, item.fields ?? {});
    if (!isNullable) return `write${inner}(w, ${value});`;
    return `if (${value} === null) w.int8(-1); else { w.int8(1); write${inner}(w, ${value}); }`;
  }
  if (item.kind === 'array') return arrayWriteOf(scope, path, name, item, value);
  const isCompact = scope.isFlexible && !item.isNeverFlexible;
  if (item.kind === 'records') return `w.${isCompact ? 'compactRecords' : 'records'}(${value});`;
  const base = item.kind === 'string' ? 'string' : isCompact || isNullable ? 'bytes' : 'bytesField';
  if (isCompact) return `w.compact${isNullable ? 'Nullable' : ''}${capital(base)}(${value});`;
  return isNullable ? `w.nullable${capital(base)}(${value});` : `w.${base}(${value});`;
}

function arrayWriteOf(scope: Scope, path: string, name: string, item: AnyField, value: string): string {
  const helper = `write${path}${capital(name)}Array`;
  if (!scope.written.has(helper)) {
    scope.written.add(helper);
    const asElement: AnyField = { ...item, kind: item.element ?? 'struct', nullable: { since: 1, until: 0 } };
    const isFlexible = scope.isFlexible;
    scope.functions.push(
      functionText(helper, 'w, a', [
        isFlexible ? 'if (a === null) return w.unsignedVarint(0);' : 'if (a === null) return w.int32(-1);',
        isFlexible ? 'w.unsignedVarint(a.length + 1);' : 'w.int32(a.length);',
        `for (let i = 0; i < a.length; i++) ${writeOf(scope, path, name, asElement, 'a[i]')}`,
      ]),
    );
  }
  return `${helper}(w, ${value});`;
}

/** An expression that tells whether a value is its field's default, or left out. */
function defaultTest(scope: Scope, path: string, name: string, item: AnyField, value: string): string {
  if (item.fallback === null) return `(${value} === undefined || ${value} === null)`;
  if (item.kind === 'array') return `(${value} === undefined || (${value} !== null && ${value}.length === 0))`;
  if (item.kind === 'bytes' || item.kind === 'records') return `isNoBytes(${value})`;
  if (item.kind !== 'struct') return `(${value} === undefined || ${value} === ${fallbackText(item)})`;
  const helper = `isPlain${path}${capital(name)}`;
  if (!scope.written.has(helper)) {
    scope.written.add(helper);
    const inner = Object.entries(item.fields ?? {}).map(([innerName, field]) =>
      defaultTest(scope, `${path}${capital(name)}`, innerName, field, `m.${innerName}`),
    );
    const kept = scope.keepsUnknownTags ? ['m.unknownTags === undefined'] : [];
    const all = [...inner, ...kept].join(' && ');
    scope.functions.push(functionText(helper, 'm', [`return m === undefined || (m !== null && ${all});`]));
  }
  return `${helper}(${value})`;
}

function addTags(
  scope: Scope,
  path: string,
  tagged: readonly [string, AnyField][],
  sizes: string[],
  writes: string[],
): void {
  const keeps = scope.keepsUnknownTags;
  if (tagged.length === 0 && !keeps) {
    sizes.push('n += 1;');
    writes.push('w.unsignedVarint(0);');
    return;
  }
  const count = keeps ? 'let tags = m.unknownTags === undefined ? 0 : m.unknownTags.length;' : 'let tags = 0;';
  sizes.push(count);
  writes.push(count);
  const later: string[] = keeps ? ['let kept = 0;'] : [];
  for (const [name, item] of [...tagged].sort((a, b) => a[1].tag - b[1].tag)) {
    if (item.kind === 'records') throw new Error('records cannot be tagged');
    const isSet = `!(${defaultTest(scope, path, name, item, `m.${name}`)})`;
    const size = sizeOf(scope, path, name, item, `m.${name}`);
    sizes.push(`if (${isSet}) { tags++; n += taggedSize(${item.tag}, ${size}); }`);
    writes.push(`if (${isSet}) tags++;`);
    if (keeps) later.push(`kept = writeUnknown(w, m.unknownTags, kept, ${item.tag});`);
    const write = writeOf(scope, path, name, item, `m.${name}`);
    later.push(`if (${isSet}) { w.unsignedVarint(${item.tag}); w.unsignedVarint(${size}); ${write} }`);
  }
  if (keeps) {
    sizes.push('n += unknownSize(m.unknownTags);');
    later.push('writeUnknown(w, m.unknownTags, kept, Infinity);');
  }
  sizes.push('n += varintSize(tags);');
  writes.push('w.unsignedVarint(tags);', ...later);
}
