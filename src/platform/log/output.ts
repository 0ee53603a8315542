let lost = 0;

/** Lines of the log that this process could not write. */
export const lostLines = (): number => lost;

/**
 * A process whose output cannot be written works on: the volume of the log may be full (ENOSPC), its reader gone (EPIPE).
 * Without a listener such an error ends the process, and the next one at its first line.
 */
export function survivesLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Writes lines, and counts those that are lost. */
export function lineWriter(
  out: NodeJS.WritableStream,
  format = (line: string) => line,
): { write(line: string): void } {
  return {
    write: line => {
      out.write(format(line), error => {
        if (error) lost++;
      });
    },
  };
}
