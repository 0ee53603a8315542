import { Findings } from '#libs/front-matter/index.js';

/** What is wrong with what the keys of a file name. */
export class KeyFindings extends Findings {
  constructor(
    path: string,
    private readonly lines: ReadonlyMap<string, number>,
  ) {
    super(path);
  }

  /** `key` may be that of a mapping within another. */
  at(key: string, message: string, suggestion: string | null = null): void {
    this.error(`${key}: ${message}`, this.lineOf(key), suggestion);
  }

  warnAt(key: string, message: string, suggestion: string | null = null): void {
    this.warn(`${key}: ${message}`, this.lineOf(key), suggestion);
  }

  private lineOf(key: string): number | null {
    return this.lines.get(key.split('.')[0] as string) ?? null;
  }
}
