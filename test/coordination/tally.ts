/** A machine for tests: counters by name. A request adds to one, in as many records as it likes; never less than 0. */
import type { Machine } from '../../core/coordination/machine.ts';
import { decodeUtf8, encodeUtf8 } from '../../core/lib/utf8.ts';

/** One record: `amount` is added to `name`. */
export interface Added {
  readonly name: string;
  readonly amount: number;
}

/** Adds every amount to `name`. None is a read. */
export interface AddRequest {
  readonly name: string;
  readonly amounts: readonly number[];
  readonly isAtomic: boolean;
}

/** The types of the tally. */
export interface TallyShapes {
  readonly config: null;
  readonly state: { counters: ReadonlyMap<string, number> };
  readonly loading: { counters: Map<string, number> };
  readonly request: AddRequest;
  readonly record: Added;
  readonly entry: Uint8Array;
  /** What the counter stands at; -1 for a refusal. */
  readonly response: number;
  readonly change: readonly string[];
  readonly view: ReadonlyMap<string, number>;
}

function add(counters: Map<string, number>, { name, amount }: Added): void {
  counters.set(name, (counters.get(name) ?? 0) + amount);
}

/** The tally. */
export const TALLY: Machine<TallyShapes> = {
  beginLoad: () => ({ counters: new Map() }),
  load: (loading, records) => {
    const names: string[] = [];
    for (const record of records) {
      add(loading.counters, record);
      names.push(record.name);
    }
    return loading.counters.has('poison') ? 'a poisoned log' : [names];
  },
  loaded: ({ counters }) => new Map(counters),
  resume: (view) => ({ counters: new Map(view) }),
  activate: ({ counters }, { isNew, bootstrap }) => ({ state: { counters }, records: isNew ? bootstrap : [] }),
  handle: ({ counters }, _context, { name, amounts, isAtomic }) => {
    if (amounts.some((amount) => amount < 0)) return { records: [], response: -1, isAtomic };
    const records = amounts.map((amount) => ({ name, amount }));
    const response = amounts.reduce((sum, amount) => sum + amount, counters.get(name) ?? 0);
    return { records, response, isAtomic };
  },
  replay: (state, records) => {
    const counters = new Map(state.counters);
    for (const record of records) add(counters, record);
    state.counters = counters;
    return records.map(({ name }) => name);
  },
  encode: ({ name, amount }) => encodeUtf8(`${name} ${amount}`),
  decode: (value) => {
    const [name, amount] = decodeUtf8(value, 0, value.length).split(' ');
    if (name === undefined || amount === undefined) return { problem: 'no record of the tally' };
    return { record: { name, amount: Number(amount) } };
  },
  view: ({ counters }) => counters,
  snapshot: (view, from, countMax) => {
    const records = [...view].map(([name, amount]) => ({ name, amount }));
    const next = from + countMax;
    return { records: records.slice(from, next), next: next < records.length ? next : -1 };
  },
  isEqual: (a, b) => a.size === b.size && [...a].every(([name, amount]) => b.get(name) === amount),
};
