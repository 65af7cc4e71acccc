/** What a command does whose reader goes away, as in `sim list | head -3`. */

/** From now on the command ends with its reader, without a word, as others in a pipeline do. A node logs elsewhere. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}
