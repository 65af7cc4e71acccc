/**
 * What a coordinator coordinates: a machine whose whole state is the replay of records, as Kafka's new coordinators
 * have it. It is a table of pure functions, lent with every call, so that state holds no functions.
 *
 * The two rules. `handle` reads the state and returns records with a response; it changes nothing that a record is to
 * change. `replay` alone does that, and gives the same state whether the records were just made or come from the log.
 */

/** The types of one machine. */
export interface Shapes {
  /** What the operator decided; plain data. */
  readonly config: unknown;
  /** The live state, changed in place. */
  readonly state: unknown;
  /** What is built while the log is being read. */
  readonly loading: unknown;
  readonly request: unknown;
  readonly record: unknown;
  /** A record as it stands in the log: its value, or a key and a value. */
  readonly entry: unknown;
  readonly response: unknown;
  /** What one batch has changed, for whoever follows the committed state. */
  readonly change: unknown;
  /** An immutable view of the state, taken at no cost: for snapshots and comparisons. */
  readonly view: unknown;
}

/** The types of a machine whose log keeps values without keys, as the metadata log does. */
export interface ValueShapes extends Shapes {
  readonly entry: Uint8Array;
}

/** Where a batch of records stands in the log. */
export interface Place {
  readonly baseOffset: number;
  /** The offset behind its last record. */
  readonly nextOffset: number;
  readonly leaderEpoch: number;
  /** When it was appended, ms since 1970. */
  readonly timestampMs: number;
}

/** What a handler needs and cannot make. */
export interface HandleContext {
  /** Monotonic, ms. */
  readonly nowMs: number;
  /** The offset that the first record of the answer will have. */
  readonly nextOffset: number;
}

/** What a handler decided. A refusal is a response without records. */
export interface Decision<T extends Shapes> {
  readonly records: readonly T['record'][];
  readonly response: T['response'];
  /** Whether the records must be in one batch. Records of several batches still follow each other undivided. */
  readonly isAtomic: boolean;
}

/** What a machine that has been loaded begins with. */
export interface Activation<T extends Shapes> {
  readonly state: T['state'];
  /** To be appended before anything else: the first records of a new log, the end of what was left half done. */
  readonly records: readonly T['record'][];
}

/** What a machine is given when it becomes active. */
export interface ActivateContext<T extends Shapes> {
  readonly config: T['config'];
  readonly nowMs: number;
  readonly seed: number;
  /** Whether the log holds no record at all. */
  readonly isNew: boolean;
  /** What the bootstrap snapshot asks a new log to begin with; empty for an older one. */
  readonly bootstrap: readonly T['record'][];
}

/** The functions of a machine. */
export interface Machine<T extends Shapes> {
  /** Begins with nothing. */
  readonly beginLoad: () => T['loading'];
  /**
   * Takes the records of committed batches, of which the last stands at `place`, or of a piece of a snapshot, whose
   * place is its end. `isPartial`: more of that snapshot follows, and its records may make sense only together. What
   * has changed by it, for whoever follows; none where it shows only later. A sentence if the records do not fit: the
   * log is damaged or not ours. They are read as they are taken, once; if one cannot be read they end before it, and
   * what was loaded is of no use.
   */
  readonly load: (
    loading: T['loading'],
    records: Iterable<T['record']>,
    place: Place,
    isPartial: boolean,
  ) => readonly T['change'][] | string;
  /** What is loaded; null in the middle of what makes sense only together. */
  readonly loaded: (loading: T['loading']) => T['view'] | null;
  /** Goes on loading behind what a view holds. */
  readonly resume: (view: T['view']) => T['loading'];
  /** All that is committed is loaded: the live state. A sentence if this node cannot serve it. */
  readonly activate: (loading: T['loading'], context: ActivateContext<T>) => Activation<T> | string;
  readonly handle: (state: T['state'], context: HandleContext, request: T['request']) => Decision<T>;
  readonly replay: (state: T['state'], records: readonly T['record'][], place: Place) => T['change'];
  readonly encode: (record: T['record']) => T['entry'];
  /** The record in an entry; a sentence if it cannot be read. */
  readonly decode: (entry: T['entry']) => { readonly record: T['record'] } | { readonly problem: string };
  readonly view: (state: T['state']) => T['view'];
  /** About `countMax` records of a snapshot of `view` from `from` on, 0 at first. `next`: where to go on, -1: done. */
  readonly snapshot: (
    view: T['view'],
    from: number,
    countMax: number,
  ) => { readonly records: readonly T['record'][]; readonly next: number };
  /** Whether two views hold the same, for checks. */
  readonly isEqual: (a: T['view'], b: T['view']) => boolean;
}
