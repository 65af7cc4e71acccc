/**
 * Takes the real clock, dice and timers away while a simulation runs: whoever reaches for them would make two runs of
 * one seed differ, and is stopped at once. The simulator never waits, so nothing else runs meanwhile.
 */

const BANNED: readonly { readonly holder: object; readonly name: string }[] = [
  { holder: Date, name: 'now' },
  { holder: Math, name: 'random' },
  { holder: performance, name: 'now' },
  { holder: globalThis, name: 'setTimeout' },
  { holder: globalThis, name: 'setInterval' },
  { holder: globalThis, name: 'setImmediate' },
  { holder: globalThis, name: 'queueMicrotask' },
];

function thrower(name: string): () => never {
  return () => {
    throw new Error(`${name} was used inside the simulation: it would not be the same run twice`);
  };
}

/** Runs `body` without clock, dice and timers, and puts them back whatever happens. */
export function withoutRealWorld<T>(body: () => T): T {
  const kept = BANNED.map(({ holder, name }) => Object.getOwnPropertyDescriptor(holder, name));
  const before = BANNED.map(({ holder, name }) => Reflect.get(holder, name));
  for (const { holder, name } of BANNED) {
    Object.defineProperty(holder, name, { value: thrower(name), configurable: true, writable: true });
  }
  try {
    return body();
  } finally {
    BANNED.forEach(({ holder, name }, index) => {
      const descriptor = kept[index];
      if (descriptor !== undefined) Object.defineProperty(holder, name, descriptor);
      else {
        Reflect.deleteProperty(holder, name);
        if (Reflect.get(holder, name) === undefined) Reflect.set(holder, name, before[index]);
      }
    });
  }
}
