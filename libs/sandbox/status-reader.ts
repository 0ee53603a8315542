import { once } from 'node:events';
import type { Readable } from 'node:stream';

/**
 * Reads what bwrap reports about itself (`--json-status-fd`): one JSON object per line, first the process
 * that is number 1 inside, by its number outside; at last the command's exit code, and that only if the
 * command was really started.
 */
export class StatusReader {
  /** Number 1 inside, as soon as it is known. */
  firstProcess: number | undefined;
  private text = '';
  private readonly closed: Promise<unknown>;

  /** @param onFirstProcess called once, before that process has left bwrap's own code */
  constructor(stream: Readable, onFirstProcess: (pid: number) => void) {
    this.closed = once(stream, 'close');
    stream.setEncoding('utf8').on('data', (part: string) => {
      this.text += part;
      if (this.firstProcess !== undefined) return;
      this.firstProcess = this.lookUp('child-pid');
      if (this.firstProcess !== undefined) onFirstProcess(this.firstProcess);
    });
  }

  /** The command's exit code once bwrap has ended; undefined if no command ran. */
  async exitCode(): Promise<number | undefined> {
    await this.closed;
    return this.lookUp('exit-code');
  }

  private lookUp(key: string): number | undefined {
    const complete = this.text.split('\n').slice(0, -1);
    const line = complete.find(one => one.includes(`"${key}"`));
    return line === undefined ? undefined : (JSON.parse(line) as Record<string, number>)[key];
  }
}
