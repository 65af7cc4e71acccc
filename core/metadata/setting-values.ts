/**
 * Values of settings that clients send: read, judged and written as Apache Kafka does it, with its complaints word for
 * word, because people search for them and tools print them. Pure, no state.
 */

/** Kafka's types of settings. */
export type SettingType = 'BOOLEAN' | 'STRING' | 'INT' | 'SHORT' | 'LONG' | 'DOUBLE' | 'LIST' | 'CLASS' | 'PASSWORD';

/** Kafka's numbers for them, as DescribeConfigs gives them. */
export const SETTING_TYPE_CODES: ReadonlyMap<SettingType, number> = new Map([
  ['BOOLEAN', 1],
  ['STRING', 2],
  ['INT', 3],
  ['SHORT', 4],
  ['LONG', 5],
  ['DOUBLE', 6],
  ['LIST', 7],
  ['CLASS', 8],
  ['PASSWORD', 9],
]);

/** What is legal. */
export interface SettingDef {
  readonly type: SettingType;
  readonly min?: number;
  readonly max?: number;
  /** A number that is legal although it lies outside. */
  readonly also?: number;
  /** The legal texts, of each element if a list. */
  readonly choices?: readonly string[];
  /** Whether it is `*`, or a list of partition:broker. */
  readonly isThrottle?: boolean;
}

/** A value in its written form, or the complaint about it. */
export type Judged = { readonly text: string } | { readonly problem: string };

const WHOLE = /^[+-]?[0-9]{1,40}$/;
const DECIMAL = /^[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?$/;
const THROTTLED = /^[0-9]{1,10}:[0-9]{1,10}$/;

/** Bits of the whole numbers. */
const BITS: ReadonlyMap<SettingType, bigint> = new Map([
  ['SHORT', 15n],
  ['INT', 31n],
  ['LONG', 63n],
]);

/** Reads `raw` as a value of the setting `name`. */
export function judge(name: string, def: SettingDef, raw: string): Judged {
  const text = raw.trim();
  const complaint = (value: string, what: string): Judged => ({
    problem: `Invalid value ${value} for configuration ${name}: ${what}`,
  });
  switch (def.type) {
    case 'BOOLEAN': {
      const lower = text.toLowerCase();
      if (lower === 'true' || lower === 'false') return { text: lower };
      return complaint(text, 'Expected value to be either true or false');
    }
    case 'SHORT':
    case 'INT':
    case 'LONG': {
      const number = readWhole(def.type, text);
      if (number === null) return complaint(text, `Not a number of type ${def.type}`);
      const what = outside(def, Number(number));
      return what === null ? { text: String(number) } : complaint(String(number), what);
    }
    case 'DOUBLE': {
      if (!DECIMAL.test(text)) return complaint(text, 'Not a number of type DOUBLE');
      const what = outside(def, Number(text));
      return what === null ? { text: doubleText(Number(text)) } : complaint(doubleText(Number(text)), what);
    }
    case 'LIST': {
      const parts = splitList(text);
      const wrong = wrongElement(name, def, parts);
      return wrong === null ? { text: parts.join(',') } : complaint(wrong.value, wrong.what);
    }
    case 'STRING':
      if (def.choices === undefined || def.choices.includes(text)) return { text };
      return complaint(text, `String must be one of: ${def.choices.join(', ')}`);
    case 'CLASS':
    case 'PASSWORD':
      return { text };
  }
}

/** A whole number that fits its type, or null. */
export function readWhole(type: SettingType, text: string): bigint | null {
  if (!WHOLE.test(text)) return null;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  const limit = 1n << (BITS.get(type) ?? 63n);
  return value >= -limit && value < limit ? value : null;
}

/** The elements of a list: split at commas, blanks dropped, an empty text has none. */
export function splitList(text: string): string[] {
  const trimmed = text.trim();
  return trimmed === '' ? [] : trimmed.split(',').map((part) => part.trim());
}

function outside(def: SettingDef, value: number): string | null {
  const { min, max, also } = def;
  const isLow = min !== undefined && value < min;
  const isHigh = max !== undefined && value > max;
  if ((!isLow && !isHigh) || value === also) return null;
  if (also !== undefined) return `Value must be between ${min} and ${max} or equal to ${also}`;
  return isLow ? `Value must be at least ${min}` : `Value must be no more than ${max}`;
}

function wrongElement(
  name: string,
  def: SettingDef,
  parts: readonly string[],
): { readonly value: string; readonly what: string } | null {
  if (def.isThrottle === true) {
    const isAll = parts.length === 1 && parts[0] === '*';
    if (isAll || parts.every((part) => THROTTLED.test(part))) return null;
    const format = '[partitionId]:[brokerId],[partitionId]:[brokerId],...';
    const what = `${name} must be the literal '*' or a list of replicas in the following format: ${format}`;
    return { value: `[${parts.join(', ')}]`, what };
  }
  const { choices } = def;
  const bad = choices === undefined ? undefined : parts.find((part) => !choices.includes(part));
  if (bad === undefined || choices === undefined) return null;
  return { value: bad, what: `String must be one of: ${choices.join(', ')}` };
}

/** A double as Java prints it, for the sizes that settings have. */
function doubleText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return `${value}.0`;
  const text = String(value);
  return text.replace('e+', 'E').replace('e', 'E');
}
