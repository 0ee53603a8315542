import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';

/** Something that is wrong with a file: an error keeps the file from being used, a warning does not. */
export interface Finding {
  readonly file: string;
  /** From 1; null where it is about the file as a whole. */
  readonly line: number | null;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** What was probably meant, or what to do; null where we have no idea. */
  readonly suggestion: string | null;
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

const WHOLE = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)([\s\S]*)$/;
/** Longest front matter that is parsed, in characters: much more than fields need, and done in milliseconds however it is written. */
const MAX_CHARACTERS = 8 * 1024;
const OPENED = /^\uFEFF?---[ \t]*(?:\r?\n|$)/;

/** The front matter of a file and what is below it. */
export interface SplitFile {
  readonly yaml: string;
  /** The text below the front matter, as it is written. */
  readonly body: string;
  /** The line on which the body begins, from 1. */
  readonly bodyLine: number;
}

/** Text without front matter is all body. Undefined, with a finding, where the front matter is too long or is not closed. */
export function splitFrontMatter(text: string, findings: Findings): SplitFile | undefined {
  const match = WHOLE.exec(text);
  if (!match) {
    if (!OPENED.test(text)) return { yaml: '', body: text, bodyLine: 1 };
    findings.error('The front matter is not closed by a line of ---', 1);
    return undefined;
  }
  const [, yaml = '', body = ''] = match;
  if (yaml.length > MAX_CHARACTERS) {
    findings.error(
      `The front matter has ${yaml.length} characters; at most ${MAX_CHARACTERS} are read`,
      1,
      'Put what is long below it',
    );
    return undefined;
  }
  const above = text.slice(0, text.length - body.length);
  return { yaml, body, bodyLine: above.split('\n').length };
}

/** The fields that a Markdown file begins with, and the line of each. What is wrong with one goes to the findings. */
export class FrontMatter {
  private readonly lines = new Map<string, number>();
  private fields: Record<string, unknown> = {};

  private constructor(
    private readonly findings: Findings,
    /** The text behind the fields. */
    readonly body: string,
  ) {}

  /** Text without front matter is all body. */
  static read(text: string, findings: Findings): FrontMatter {
    const match = WHOLE.exec(text);
    if (!match && OPENED.test(text)) findings.error('The front matter is not closed by a line of ---', 1);
    const [, yaml = '', body = text] = match ?? [];
    const matter = new FrontMatter(findings, body.trim());
    if (yaml.length > MAX_CHARACTERS) {
      findings.error(
        `The front matter has ${yaml.length} characters; at most ${MAX_CHARACTERS} are read`,
        1,
        'Put what is long below it',
      );
      return matter;
    }
    try {
      matter.parse(yaml);
    } catch (error) {
      findings.error(`The front matter is not valid YAML: ${firstLine(error)}`, 1);
    }
    return matter;
  }

  lineOf(key: string): number | null {
    return this.lines.get(key) ?? null;
  }

  /** The value of a field; undefined where it is absent or empty. */
  value(key: string): unknown {
    return this.fields[key] ?? undefined;
  }

  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (typeof value === 'string') return value.trim();
    this.findings.error(`${key} must be text`, this.lineOf(key));
    return undefined;
  }

  /** Reports keys other than these; `suggest` says which of them was probably meant. */
  expect(
    known: readonly string[],
    severity: 'error' | 'warn',
    suggest: (key: string, known: readonly string[]) => string | null,
  ): void {
    for (const key of Object.keys(this.fields)) {
      if (known.includes(key)) continue;
      const meant = suggest(key, known);
      this.findings[severity](
        `"${key}" is not a known key; there are ${known.join(', ')}`,
        this.lineOf(key),
        meant && `Did you mean "${meant}"?`,
      );
    }
  }

  private parse(yaml: string): void {
    const lineCounter = new LineCounter();
    // The file's first line is the --- above.
    const lineAt = (offset: number) => lineCounter.linePos(offset).line + 1;
    const document = parseDocument(yaml, { lineCounter, prettyErrors: false });
    const [fault] = document.errors;
    if (fault) {
      this.findings.error(
        `The front matter is not valid YAML: ${firstLine(fault)}`,
        lineAt(fault.pos[0]),
        'Put text that holds ": " or begins with a special character into quotes',
      );
      return;
    }
    const { contents } = document;
    if (contents === null || (isScalar(contents) && contents.value === null)) return;
    if (!isMap(contents)) {
      this.findings.error('The front matter must be lines of "key: value"', 1);
      return;
    }
    for (const { key } of contents.items)
      if (isScalar(key) && key.range) this.lines.set(String(key.value), lineAt(key.range[0]));
    this.fields = document.toJS({ maxAliasCount: 0 });
  }
}

const firstLine = (error: unknown) => (error as Error).message.split('\n')[0];
