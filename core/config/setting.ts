/**
 * The shape of one setting, and how its text becomes a value. The table itself is `settings.ts`.
 *
 * A setting is data: its kind, unit, bounds, default, scope and one sentence. Help, documentation and DescribeConfigs
 * are made from it. Text is read as Kafka reads it: numbers are trimmed decimal digits, booleans ignore case, lists
 * are split at commas. Long.MAX reads as Infinity, which means "never" or "no limit". No state.
 */
import type { Listener, QuorumVoter, TopicAtStart } from './values.ts';

/** How the text is read. The names are Kafka's where Kafka has the kind. */
export type SettingKind =
  | 'string'
  | 'int'
  | 'long'
  | 'double'
  | 'boolean'
  | 'list'
  | 'choice'
  | 'listeners'
  | 'addresses'
  | 'voters'
  | 'topics';

/** What a number counts; empty for what has no unit. */
export type SettingUnit = '' | 'ms' | 'hours' | 'minutes' | 'seconds' | 'bytes' | 'count' | 'ratio';

/** broker: may differ from node to node. topic: a default that a topic may override. cluster: equal on every node. */
export type SettingScope = 'broker' | 'topic' | 'cluster';

/** One setting. `T` is the type of its value. */
export interface Setting<out T> {
  /** Carries the type of the value; never there at run time. */
  readonly holds?: T;
  readonly kind: SettingKind;
  readonly unit: SettingUnit;
  /** The default as it would stand in a file; null when there is none. */
  readonly default: string | null;
  /** Bounds of a number, inclusive. */
  readonly min: number;
  readonly max: number;
  /** The legal values of a 'choice', and of each element of a 'list'; empty: anything. */
  readonly choices: readonly string[];
  /** -1 means "never" or "no limit", and reads as Infinity. */
  readonly minusOneIsNever: boolean;
  /** Where the value comes from when none is given: another setting's, times a factor. */
  readonly inherits: { readonly from: string; readonly times: number } | null;
  readonly scope: SettingScope;
  /** The name of the topic setting that overrides it, for scope 'topic'. */
  readonly topicName: string | null;
  /** Whether it does anything yet: a setting that does not is checked, kept, and warned about. */
  readonly acts: boolean;
  /** Why the default is not Kafka's; null when it is, or when Kafka has no such setting. */
  readonly differs: string | null;
  /** What it does, for help and documentation. */
  readonly sentence: string;
}

/** What a declaration in the table says; the rest has usual values. */
export interface Declaration {
  readonly default: string | null;
  readonly unit?: SettingUnit;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  readonly minusOneIsNever?: boolean;
  readonly inherits?: { readonly from: string; readonly times: number };
  readonly scope?: SettingScope;
  readonly topicName?: string;
  readonly acts?: boolean;
  readonly differs?: string;
  readonly sentence: string;
}

/** Null is possible only where there is neither a default nor another setting to inherit from. */
type Nullable<T, D extends Declaration> = D extends { default: null }
  ? D extends { inherits: object }
    ? T
    : T | null
  : T;

const INT_MIN = -2147483648;
const INT_MAX = 2147483647;

/** A 32-bit integer. */
export function int<const D extends Declaration>(declaration: D): Setting<Nullable<number, D>> {
  return declare('int', { min: INT_MIN, max: INT_MAX, ...declaration });
}

/** A 64-bit integer as a double: exact to 2^53, Long.MAX is Infinity. */
export function long<const D extends Declaration>(declaration: D): Setting<Nullable<number, D>> {
  return declare('long', declaration);
}

/** A floating-point number. */
export function double<const D extends Declaration>(declaration: D): Setting<Nullable<number, D>> {
  return declare('double', declaration);
}

/** true or false. */
export function boolean<const D extends Declaration>(declaration: D): Setting<Nullable<boolean, D>> {
  return declare('boolean', declaration);
}

/** A trimmed text. */
export function string<const D extends Declaration>(declaration: D): Setting<Nullable<string, D>> {
  return declare('string', declaration);
}

/** Texts between commas. */
export function list<const D extends Declaration>(declaration: D): Setting<Nullable<readonly string[], D>> {
  return declare('list', declaration);
}

/** One of a few texts. */
export function choice<const C extends readonly string[], const D extends Declaration>(
  choices: C,
  declaration: D,
): Setting<Nullable<C[number], D>> {
  return declare('choice', { ...declaration, choices });
}

/** `NAME://host:port` between commas. */
export function listeners<const D extends Declaration>(declaration: D): Setting<Nullable<readonly Listener[], D>> {
  return declare('listeners', declaration);
}

/** `host:port` between commas. */
export function addresses<const D extends Declaration>(declaration: D): Setting<Nullable<readonly string[], D>> {
  return declare('addresses', declaration);
}

/** `id@host:port` between commas. */
export function voters<const D extends Declaration>(declaration: D): Setting<Nullable<readonly QuorumVoter[], D>> {
  return declare('voters', declaration);
}

/** `name:partitions` between commas. */
export function topics<const D extends Declaration>(declaration: D): Setting<Nullable<readonly TopicAtStart[], D>> {
  return declare('topics', declaration);
}

function declare<T>(kind: SettingKind, declaration: Declaration): Setting<T> {
  return {
    kind,
    unit: declaration.unit ?? '',
    default: declaration.default,
    min: declaration.min ?? -Infinity,
    max: declaration.max ?? Infinity,
    choices: declaration.choices ?? [],
    minusOneIsNever: declaration.minusOneIsNever ?? false,
    inherits: declaration.inherits ?? null,
    scope: declaration.scope ?? 'broker',
    topicName: declaration.topicName ?? null,
    acts: declaration.acts ?? true,
    differs: declaration.differs ?? null,
    sentence: declaration.sentence,
  };
}
