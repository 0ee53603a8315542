import { isMap, isScalar, isSeq, LineCounter, parseDocument, type YAMLMap } from 'yaml';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { exactNumber } from '#libs/exact-json/index.js';
import type { Findings } from '#libs/front-matter/index.js';

type Node = unknown;

/** Where something of the text stands in the file. */
interface Lines {
  lineAt(offset: number): number;
}

const MAX_DEPTH = 20;

/** A mapping of a YAML file, whose values are read by key. What is wrong with one goes to the findings, with its line. */
export class YamlMapping {
  private constructor(
    private readonly map: YAMLMap,
    /** What it is, for findings: `fields[2]`; empty for the file. */
    private readonly name: string,
    private readonly lines: Lines,
    readonly findings: Findings,
  ) {}

  /** Undefined, with a finding, for anything but a mapping. */
  static of(node: Node, name: string, lines: Lines, findings: Findings): YamlMapping | undefined {
    if (isMap(node)) return new YamlMapping(node, name, lines, findings);
    findings.error(`${name || 'The file'} must be lines of "key: value"`, lineOf(node, lines));
    return undefined;
  }

  /** The line of a key, or else of the mapping. */
  lineOf(key?: string): number | null {
    const pair = this.map.items.find(item => isScalar(item.key) && item.key.value === key);
    return lineOf(pair?.key ?? this.map, this.lines);
  }

  /** Reports keys other than these. */
  expect(known: readonly string[]): void {
    for (const { key } of this.map.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (known.includes(name)) continue;
      const meant = didYouMean(name, known);
      this.findings.error(
        `"${name.slice(0, 60)}" is not a known key${this.name && ` of ${this.name}`}; there are ${known.join(', ')}`,
        lineOf(key, this.lines),
        meant && `Did you mean "${meant}"?`,
      );
    }
  }

  has(key: string): boolean {
    const node = this.map.get(key, true);
    return node !== undefined && !(isScalar(node) && node.value === null);
  }

  error(key: string, message: string, suggestion: string | null = null): undefined {
    this.findings.error(`${this.pathOf(key)} ${message}`, this.lineOf(key), suggestion);
    return undefined;
  }

  /** Of at most `max` characters, without spaces around it. */
  text(key: string, max: number): string | undefined {
    const value = this.scalar(key);
    if (value === undefined) return undefined;
    if (typeof value !== 'string' && typeof value !== 'number') return this.error(key, 'must be text');
    const text = String(value).trim();
    if (text.length > max) return this.error(key, `may have at most ${max} characters`);
    if (!isPlain(text)) return this.error(key, 'has characters that cannot be shown');
    return text;
  }

  number(key: string): number | undefined {
    const value = this.scalar(key);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    return this.error(key, 'must be a number');
  }

  integer(key: string, least: number, most: number): number | undefined {
    const value = this.number(key);
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    return this.error(key, `must be a whole number from ${least} to ${most}`);
  }

  boolean(key: string): boolean | undefined {
    const value = this.scalar(key);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.error(key, 'must be true or false');
  }

  choice<T extends string>(key: string, known: readonly T[]): T | undefined {
    const value = this.scalar(key);
    if (value === undefined) return undefined;
    if (known.includes(value as T)) return value as T;
    const meant = didYouMean(String(value), known);
    return this.error(key, `must be one of ${known.join(', ')}`, meant && `Did you mean "${meant}"?`);
  }

  mapping(key: string): YamlMapping | undefined {
    if (!this.has(key)) return undefined;
    return YamlMapping.of(this.map.get(key, true), this.pathOf(key), this.lines, this.findings);
  }

  /** Whatever it is, as JSON. */
  value(key: string): unknown {
    if (!this.has(key)) return undefined;
    try {
      return jsonOf(this.map.get(key, true), MAX_DEPTH);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return this.error(key, `cannot be read: ${error.message}`);
    }
  }

  /** The keys, in their order. */
  get keys(): string[] {
    return this.map.items.flatMap(({ key }) => (isScalar(key) ? [String(key.value)] : []));
  }

  /** The items of a list of at most `max`. */
  list(key: string, max: number): Node[] {
    if (!this.has(key)) return [];
    const node = this.map.get(key, true);
    if (!isSeq(node)) return this.error(key, 'must be a list') ?? [];
    if (node.items.length > max) return this.error(key, `may have at most ${max} items`) ?? [];
    return node.items;
  }

  /** A list of short texts; one text alone is a list of one. */
  texts(key: string, max: number): string[] {
    const node = this.map.get(key, true);
    const items = isScalar(node) && node.value !== null ? [node] : this.list(key, max);
    const texts = items.map(item => (isScalar(item) ? String(item.value ?? '').trim() : ''));
    if (texts.some(text => text === '' || text.length > 200 || !isPlain(text)))
      return this.error(key, 'must be a list of short texts') ?? [];
    return texts;
  }

  /** The mappings of a list. */
  mappings(key: string, max: number): YamlMapping[] {
    return this.list(key, max)
      .map((item, index) =>
        YamlMapping.of(item, `${this.pathOf(key)}[${index + 1}]`, this.lines, this.findings),
      )
      .filter(one => one !== undefined);
  }

  /** A list of `{id, label}`; a text alone is both. */
  optionList(key: string, max: number): { id: string; label: string }[] {
    return this.list(key, max).map((item, index) => {
      const name = `${this.pathOf(key)}[${index + 1}]`;
      if (isScalar(item) && item.value !== null) {
        const text = String(item.value).trim();
        if (text === '' || text.length > 200 || !isPlain(text))
          this.findings.error(
            `${name} must have 1 to 200 characters that can be shown`,
            lineOf(item, this.lines),
          );
        return { id: text, label: text };
      }
      const option = YamlMapping.of(item, name, this.lines, this.findings);
      option?.expect(['id', 'label']);
      const id = option?.text('id', 200) ?? '';
      if (option && id === '') this.findings.error(`${name} has no id`, option.lineOf());
      return { id, label: option?.text('label', 200) || id };
    });
  }

  private scalar(key: string): string | number | boolean | undefined {
    if (!this.has(key)) return undefined;
    const node = this.map.get(key, true);
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
    return this.error(key, 'must be a single value');
  }

  private pathOf(key: string): string {
    return this.name ? `${this.name}.${key}` : key;
  }
}

/**
 * Reads text that is a mapping; undefined, with a finding, for any other. `emptyHint` says what to begin with; `firstLine` is the
 * line of the file on which the text begins.
 */
export function readYamlMapping(
  text: string,
  findings: Findings,
  emptyHint: string,
  firstLine = 1,
): YamlMapping | undefined {
  const counter = new LineCounter();
  const lines = { lineAt: (offset: number) => counter.linePos(offset).line + firstLine - 1 };
  const document = parsed(text, counter);
  if (document === undefined) {
    findings.error('The file is nested too deeply', firstLine);
    return undefined;
  }
  const [fault] = document.errors;
  if (fault) {
    const [message = ''] = fault.message.split('\n');
    const hint = 'Put text that holds ": " or begins with a special character into quotes';
    findings.error(`The file is not valid YAML: ${message}`, lines.lineAt(fault.pos[0]), hint);
    return undefined;
  }
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    findings.error('The file is empty', null, emptyHint);
    return undefined;
  }
  return YamlMapping.of(contents, '', lines, findings);
}

/** Whether a database and a page can hold it. */
const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

function lineOf(node: Node, lines: Lines): number | null {
  const range = (node as { range?: [number, number, number] } | null | undefined)?.range;
  return range ? lines.lineAt(range[0]) : null;
}

/** Undefined for what is nested so deeply that the parser cannot follow. */
function parsed(text: string, lineCounter: LineCounter) {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** As JSON; throws RangeError where it is nested deeper than `depth`, holds aliases or keys that are no text. */
function jsonOf(node: Node, depth: number): unknown {
  if (depth === 0) throw new RangeError('it is nested too deeply');
  if (isScalar(node)) {
    if (typeof node.value === 'bigint') throw new RangeError('it holds a number that is too large');
    return typeof node.value === 'number' ? exactNumber(node.source ?? '', node.value) : node.value;
  }
  if (isSeq(node)) return node.items.map(item => jsonOf(item, depth - 1));
  if (!isMap(node)) throw new RangeError('it holds an alias; write it out');
  const entries = node.items.map(({ key, value }) => {
    if (!isScalar(key)) throw new RangeError('it has a key that is no text');
    return [String(key.value), value === null ? null : jsonOf(value, depth - 1)] as const;
  });
  return Object.fromEntries(entries);
}
