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
    const line = this.lines.get(key.split('.')[0] as string) ?? null;
    this.error(`${key}: ${message}`, line, suggestion);
  }
}
