/** From the operating system's errors to the few kinds that a node can act on. Pure, no state. */
import type { DiskError } from '../../core/lib/world.ts';

/** What kind of failure an error of Node's file functions is. */
export function diskError(error: unknown): DiskError {
  switch (errorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'notFound';
    case 'ENOSPC':
    case 'EDQUOT':
    // Out of file handles is like out of space: nothing happened, nothing is broken, and it may pass.
    case 'EMFILE':
    case 'ENFILE':
      return 'noSpace';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'denied';
    default:
      return 'io';
  }
}

/** The text of an error, for people. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's name of an error (ENOENT), or an empty text. */
export function errorCode(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
