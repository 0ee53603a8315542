import { randomBytes } from 'node:crypto';
import { MAX_SCRIPT_RESULT } from '../../../workspaces/sandboxes/index.js';

/** What is kept of what a script prints, in characters: the end of it. */
const MAX_LOG = 64 * 1024;

/** What a script prints, and the result that is printed behind a marker. */
export class ScriptOutput {
  /** Nothing that a script prints by itself. */
  readonly marker = `output-${randomBytes(18).toString('base64url')}`;
  private printed = '';
  private behind: string | undefined;
  private found: unknown;
  private wrong: string | null = null;

  add(text: string): void {
    if (this.behind !== undefined) {
      this.behind = (this.behind + text).slice(0, MAX_SCRIPT_RESULT + 1);
      return;
    }
    const all = this.printed + text;
    const at = all.indexOf(`\n${this.marker}\n`);
    if (at < 0) {
      this.printed = all.slice(-MAX_LOG - this.marker.length - 2);
      return;
    }
    this.printed = all.slice(0, at);
    this.behind = all.slice(at + this.marker.length + 2).slice(0, MAX_SCRIPT_RESULT + 1);
  }

  /** Everything was printed. */
  end(): void {
    if (this.behind === undefined) return;
    if (this.behind.length > MAX_SCRIPT_RESULT) {
      this.wrong = `$ATELIER_OUTPUT has more than ${MAX_SCRIPT_RESULT} characters`;
      return;
    }
    try {
      this.found = JSON.parse(this.behind);
    } catch {
      this.wrong = '$ATELIER_OUTPUT is not JSON';
    }
  }

  /** The end of what it printed. */
  get log(): string {
    return this.printed.slice(-MAX_LOG).toWellFormed().replaceAll('\0', '');
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
