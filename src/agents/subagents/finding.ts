/** Something that is wrong with a file below `.agents/`: an error keeps the file from being used, a warning does not. */
export interface Finding {
  readonly file: string;
  /** From 1; null where it is about the file as a whole. */
  readonly line: number | null;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** What was probably meant, or what to do; null where we have no idea. */
  readonly suggestion: string | null;
}

/** What was read from one file: what it defines, unless an error keeps it from defining anything. */
export interface Reading<T> {
  readonly path: string;
  /** What it defines or would define: its name as far as it can be told. */
  readonly name: string;
  readonly value: T | null;
  readonly findings: readonly Finding[];
}

/** Gathers what is found in one file. */
export class Findings {
  readonly all: Finding[] = [];

  constructor(private readonly file: string) {}

  error(message: string, line: number | null = null, suggestion: string | null = null): void {
    this.all.push({ file: this.file, line, severity: 'error', message, suggestion });
  }

  warn(message: string, line: number | null = null, suggestion: string | null = null): void {
    this.all.push({ file: this.file, line, severity: 'warning', message, suggestion });
  }

  get hasErrors(): boolean {
    return this.all.some(({ severity }) => severity === 'error');
  }
}
