import { stripVTControlCharacters } from 'node:util';

const MEBIBYTE = 1024 * 1024;
export const MAX_LOG_BYTES = 4 * MEBIBYTE;
/** More output than this ends a build. */
const MAX_PRINTED_BYTES = 256 * MEBIBYTE;
/** Characters kept of the end of the log. */
const KEPT_CHARACTERS = 16 * 1024;

export type LogStream = 'stdout' | 'stderr' | 'system';

/** Forwards the beginning of the output of a build, and keeps its end. */
export class BuildLog {
  private printed = 0;
  private isCut = false;
  private end = '';

  /** Called once, when a build has printed too much. */
  onFlood: () => void = () => undefined;

  constructor(private readonly pass: (stream: LogStream, text: string) => void) {}

  say(line: string): void {
    this.pass('system', `${line}\n`);
  }

  add(stream: 'stdout' | 'stderr', text: string): void {
    this.end = (this.end + text).slice(-KEPT_CHARACTERS);
    const before = this.printed;
    this.printed += Buffer.byteLength(text);
    if (before <= MAX_PRINTED_BYTES && this.printed > MAX_PRINTED_BYTES) this.onFlood();
    if (this.isCut) return;
    if (this.printed <= MAX_LOG_BYTES) {
      this.pass(stream, text);
      return;
    }
    this.isCut = true;
    const bytes = Buffer.from(text).subarray(0, MAX_LOG_BYTES - before);
    // Without the character that is cut.
    const rest = new TextDecoder().decode(bytes, { stream: true });
    if (rest !== '') this.pass(stream, rest);
    this.say(`\n… The log is longer than ${MAX_LOG_BYTES / MEBIBYTE} MiB; the rest of it is left out.`);
  }

  /** Plain text printed last, since `forgetTail`. */
  tail(): string {
    return stripVTControlCharacters(this.end);
  }

  forgetTail(): void {
    this.end = '';
  }
}
