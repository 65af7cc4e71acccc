/**
 * What the rules of `rules.ts` know, as data: who may import whom, which names are banned and what to write instead,
 * how large things may be, and the few exceptions, each with its reason.
 */

/** From core alone: the layers below each layer, on top of itself. The order is that of the architecture. */
const FOUNDATION = ['core/lib', 'core/config', 'core/protocol'];
const PARTS = [...FOUNDATION, 'core/log', 'core/metadata', 'core/channel', 'core/assignors'];
const COPIES = [...PARTS, 'core/replication', 'core/raft'];
const COORDINATORS = [...COPIES, 'core/coordination'];
const SERVER = [...COORDINATORS, 'core/controller', 'core/group', 'core/txn', 'core/share', 'core/security'];
const CORE = [...SERVER, 'core/broker', 'core/client', 'core/verify'];

/** Layer → the layers it may import besides itself. A layer that is not listed here may not exist. */
export const IMPORTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['core/lib', []],
  ['core/config', ['core/lib']],
  ['core/protocol', ['core/lib']],
  ['core/log', FOUNDATION],
  ['core/metadata', FOUNDATION],
  ['core/channel', FOUNDATION],
  ['core/assignors', FOUNDATION],
  ['core/replication', PARTS],
  ['core/raft', PARTS],
  ['core/coordination', COPIES],
  // The controller is hosted by coordination and never sees the quorum beneath it.
  ['core/controller', COORDINATORS.filter((layer) => layer !== 'core/raft')],
  ['core/group', COORDINATORS],
  ['core/txn', COORDINATORS],
  ['core/share', COORDINATORS],
  ['core/security', COORDINATORS],
  ['core/broker', SERVER],
  ['core/client', [...FOUNDATION, 'core/channel', 'core/assignors']],
  ['core/verify', FOUNDATION],
  ['runtime-real', CORE],
  ['runtime-sim', CORE],
  ['scenarios', [...CORE, 'runtime-sim']],
  ['tools', [...CORE, 'runtime-real', 'runtime-sim', 'scenarios']],
  ['test', [...CORE, 'runtime-real', 'runtime-sim', 'scenarios', 'tools']],
]);

/** Single imports against the table: importing file → imported file. Types only. */
export const TYPE_IMPORTS_ALLOWED: ReadonlyMap<string, string> = new Map([
  // `Env` lends the codecs, whose type belongs with the formats that they serve.
  ['core/lib/world.ts', 'core/protocol/compression.ts'],
]);

/** Layer prefix → the packages it may import. Whatever is not under a prefix here may import any dependency. */
export const PACKAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['core/', ['immer']],
  // node:module loads the pinned codecs, which are CommonJS and say their versions in their manifests.
  [
    'runtime-sim/',
    ['seedrandom', 'fflate', 'snappyjs', 'lz4-napi', '@bokuweb/zstd-wasm', 'fzstd', 're2js', 'immer', 'node:module'],
  ],
  ['scenarios/', []],
]);

/** One banned name and what to write instead. */
export interface Ban {
  readonly name: string;
  readonly instead: string;
}

const CLOCK = 'env.nowMs or env.wallMs';
const TABLE = 'integer arithmetic, or a table: engines differ in the last bit';
const DICE = 'a seed in the state';
const PLAIN = 'comparison of code units: engines carry different locale data';
const EFFECT = 'an effect: a machine runs to its end';

/** Free names that neither a machine nor the simulator may use. */
export const BANNED_NAMES: readonly Ban[] = [
  { name: 'Date', instead: CLOCK },
  { name: 'performance', instead: CLOCK },
  { name: 'Intl', instead: PLAIN },
  { name: 'Temporal', instead: CLOCK },
  { name: 'setTimeout', instead: 'deadlineMs' },
  { name: 'setInterval', instead: 'deadlineMs' },
  { name: 'setImmediate', instead: EFFECT },
  { name: 'queueMicrotask', instead: EFFECT },
  { name: 'Buffer', instead: 'Uint8Array and DataView' },
  { name: 'TextDecoder', instead: 'core/lib/utf8.ts' },
  { name: 'TextEncoder', instead: 'core/lib/utf8.ts' },
  { name: 'structuredClone', instead: 'a snapshot function that shares immutable bytes' },
  { name: 'WeakRef', instead: 'a plain reference: garbage collection is not an event' },
  { name: 'WeakMap', instead: 'Map: state is plain data' },
  { name: 'FinalizationRegistry', instead: 'an explicit end: garbage collection is not an event' },
  { name: 'globalThis', instead: 'an argument' },
  { name: 'process', instead: 'an argument' },
  { name: 'console', instead: "a 'say' effect" },
  { name: 'eval', instead: 'core/protocol/compile.ts' },
  { name: 'Function', instead: 'core/protocol/compile.ts' },
  { name: 'Proxy', instead: 'plain data' },
];

/** Free names that core alone may not use: the simulator awaits the loading of its codecs. */
export const BANNED_IN_CORE: readonly Ban[] = [{ name: 'Promise', instead: EFFECT }];

/** Members of Math whose results differ between engines or runs; what is exact by the standard is allowed. */
export const BANNED_MATH: ReadonlyMap<string, string> = new Map([
  ['random', DICE],
  ...[
    'pow exp expm1 log log1p log2 log10 sin cos tan asin acos atan atan2',
    'sinh cosh tanh asinh acosh atanh cbrt hypot',
  ].flatMap((names) => names.split(' ').map((name): [string, string] => [name, TABLE])),
]);

/** Member names that neither a machine nor the simulator may use on anything. */
export const BANNED_MEMBERS: readonly Ban[] = [
  { name: 'localeCompare', instead: PLAIN },
  { name: 'toLocaleString', instead: PLAIN },
  { name: 'toLocaleLowerCase', instead: PLAIN },
  { name: 'toLocaleUpperCase', instead: PLAIN },
  { name: 'toLocaleDateString', instead: PLAIN },
  { name: 'toLocaleTimeString', instead: PLAIN },
  { name: 'normalize', instead: PLAIN },
  { name: 'stack', instead: 'the name of the promise that broke: engines write different stacks' },
];

/** File → names that it may use against the bans, and why it must. */
export const NAMES_ALLOWED: ReadonlyMap<string, readonly string[]> = new Map([
  // Decoders and encoders are compiled from their schemas, once for each version.
  ['core/protocol/compile.ts', ['Function']],
  // It is the file that takes the clock and the dice away from everyone else while a simulation runs.
  ['runtime-sim/ban.ts', ['Date', 'performance', 'globalThis']],
  // Says where a broken assertion stands. It is for people and no part of the trace, so no hash depends on it.
  ['runtime-sim/run.ts', ['stack']],
]);

/** The only files that may do nothing but hand on: the list of messages, and what the package publishes. */
export const REEXPORTS_ALLOWED: readonly string[] = [
  'core/protocol/messages/index.ts',
  'tools/testkit/testing.ts',
  'runtime-real/sdk/client.ts',
];

/** Files that may use classes in core: leaves without state of their own, and errors. */
export const CLASSES_ALLOWED: readonly string[] = ['core/lib/', 'core/protocol/'];

/** The one file whose module keeps something: where fresh bytes come from, each of which is handed out once. */
export const MODULE_STATE_ALLOWED: readonly string[] = ['core/lib/writer.ts'];

/** Files that may type an object by arbitrary names: schemas, whose names are fields of TypeScript types. */
export const DICTIONARIES_ALLOWED: readonly string[] = ['core/protocol/'];

/** Characters. */
export const LINE_LENGTH_MAX = 120;
/** Lines. */
export const FILE_LINES_MAX = 400;
/** Lines. */
export const FUNCTION_LINES_MAX = 60;

/** Files that may be longer: tables of data, which are looked up and not read. */
export const LONG_FILES_ALLOWED: readonly string[] = ['core/protocol/errors.ts', 'core/config/settings.ts'];

/** Files that nothing imports and no script names, and who starts them. */
export const ENTRIES: readonly string[] = [
  // Started by hand and by tests, as programs of their own.
  'tools/peers/kafka.ts',
  'tools/wire/record.ts',
  'tools/bench/null-broker.ts',
  // Named by `tools/build/bundle.ts`.
  'tools/cli/tidemark.ts',
  'runtime-real/sdk/client.ts',
];
