import { randomBytes } from 'node:crypto';
import { parseJson } from '#libs/exact-json/index.js';
import { MAX_SCRIPT_RESULT } from '../../../workspaces/sandboxes/index.js';
import type { ScriptLog } from './script-log.js';

/** What is kept of what a script prints, in characters: the end of it. */
const MAX_LOG = 64 * 1024;

/** Output of a script: what it prints goes to the log of its run, and the result that is printed behind a marker is kept. */
export class ScriptOutput {
  /** Nothing that a script prints by itself. */
  readonly marker = `output-${randomBytes(18).toString('base64url')}`;
  private printed = '';
  /** The end of what came, which may be the beginning of the marker. */
  private held = '';
  private behind: string | undefined;
  private found: unknown;
  private wrong: string | null = null;

  constructor(private readonly log: ScriptLog) {}

  /** Logs what is certainly no part of the marker. */
  add(text: string): void {
    if (this.behind !== undefined) {
      this.behind = (this.behind + text).slice(0, MAX_SCRIPT_RESULT + 1);
      return;
    }
    const all = this.held + text;
    const at = all.indexOf(`\n${this.marker}\n`);
    const upTo = at < 0 ? Math.max(0, all.length - this.marker.length - 1) : at;
    this.held = at < 0 ? all.slice(upTo) : '';
    if (at >= 0) this.behind = all.slice(at + this.marker.length + 2).slice(0, MAX_SCRIPT_RESULT + 1);
    this.print(all.slice(0, upTo));
  }

  /** Everything was printed. */
  end(): void {
    this.print(this.held);
    this.held = '';
    this.readResult();
  }

  /** Resolves when all of it is in the log of the run, or cannot be. */
  settle(): Promise<void> {
    return this.log.end();
  }

  private print(text: string): void {
    this.printed = (this.printed + text).slice(-MAX_LOG);
    this.log.add(text);
  }

  private readResult(): void {
    if (this.behind === undefined) return;
    if (this.behind.length > MAX_SCRIPT_RESULT) {
      this.wrong = `$ATELIER_OUTPUT has more than ${MAX_SCRIPT_RESULT} characters`;
      return;
    }
    try {
      this.found = parseJson(this.behind);
    } catch {
      this.wrong = '$ATELIER_OUTPUT is not JSON';
    }
  }

  /** The end of what it printed. */
  get tail(): string {
    return (this.printed + this.held).slice(-MAX_LOG).toWellFormed().replaceAll('\0', '');
  }

  /** The JSON that it left; undefined where it left none. */
  get result(): unknown {
    return this.found;
  }

  /** What is wrong with what it left. */
  get fault(): string | null {
    return this.wrong;
  }
}
