/** Assertions are for our own mistakes: they end the node. What the world does wrong is a value, never an assertion. */

/** Raised when an invariant of ours is broken. `message` is static so that equal failures have equal texts. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws AssertionError unless `condition` holds. One condition a call, a static message. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Ends an exhaustive switch: the type checker refuses a case that was forgotten. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String((value as { kind?: unknown }).kind ?? value)}`);
}
