/** `tidemark random-uuid`: an id for a cluster or a directory, as `kafka-storage random-uuid` prints it. No state. */
import crypto from 'node:crypto';
import { randomUuid } from '../../../core/broker/checkpoints/files.ts';
import { UUID_BYTES } from '../../../core/lib/uuid.ts';

/** Prints it. */
export function printUuid(): void {
  process.stdout.write(`${randomUuid(crypto.randomBytes(UUID_BYTES), 0)}\n`);
}
