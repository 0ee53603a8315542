import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

/** A response as a row: cells by column. */
export interface CsvRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, string>>;
}

export interface CsvInput {
  /** What the file holds; null: it is not there. */
  readonly bytes: Uint8Array | null;
  /** Columns that the file has to have, the first two included. */
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** The file with the rows in it; null where nothing changes, undefined where its header cannot be read. */
export interface CsvOutput {
  readonly text: string | null | undefined;
}

export const ID_COLUMN = 'submission_id';
export const TIME_COLUMN = 'submitted_at';
export const BOM = '\uFEFF';
/** A file may have all of them: editors and spreadsheets add lines with their own. */
const LINE_ENDS = ['\r\n', '\n', '\r'];

/**
 * Adds rows to a file that people may have changed. Columns are found by their names, and those that are missing are added
 * at the end; a row whose id is there is not added again. Runs in a worker thread: the file may have megabytes.
 */
export function addRows({ bytes, columns, rows }: CsvInput): CsvOutput {
  const text = bytes && decoded(bytes);
  if (text === undefined) return { text };
  const table = text === null || text.trim() === '' ? emptyTable(text ?? '') : read(text);
  if (!table) return { text: undefined };
  const { header, body, delimiter, lineEnd } = table;
  const missing = columns.filter(column => !header.includes(column));
  const place = header.indexOf(ID_COLUMN);
  const known = new Set(place < 0 ? [] : body.map(record => (record[place] ?? '').trim()));
  const added = rows.filter(({ id }) => !known.has(id));
  if (added.length === 0 && missing.length === 0 && text !== null) return { text: null };
  const names = [...header, ...missing];
  const written = (records: string[][]) =>
    stringify(records, { delimiter, record_delimiter: lineEnd, quoted_match: /[\r\n]/ });
  const lines = written(added.map(({ cells }) => names.map(name => cells[name] ?? '')));
  // Of what people wrote, nothing is written anew while the columns stay.
  if (missing.length === 0 && text !== null)
    return { text: (/[\r\n]$/.test(text) ? text : text + lineEnd) + lines };
  const kept = body.map(record => [...record, ...Array(Math.max(0, names.length - record.length)).fill('')]);
  return { text: (text?.startsWith(BOM) ? BOM : '') + written([names, ...kept]) + lines };
}

/** Undefined for what is no UTF-8, which would come out garbled. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

interface Table {
  readonly header: string[];
  readonly body: string[][];
  readonly delimiter: string;
  /** How its first line ends. */
  readonly lineEnd: string;
}

const emptyTable = (text: string): Table => ({
  header: [],
  body: [],
  delimiter: ',',
  lineEnd: lineEndOf(text),
});

/** Undefined where the first line does not name our id, once. Spreadsheets save with other delimiters. */
function read(text: string): Table | undefined {
  for (const delimiter of [',', ';', '\t']) {
    const [first, ...rest] = parsed(text, delimiter) ?? [];
    const header = first?.record.map(name => name.trim()) ?? [];
    const isWhole =
      header.filter(name => name === ID_COLUMN).length === 1 &&
      new Set(header.filter(Boolean)).size === header.filter(Boolean).length;
    if (!isWhole) continue;
    const headerLine = Buffer.from(text).subarray(0, first?.info.bytes).toString();
    return { header, body: rest.map(({ record }) => record), delimiter, lineEnd: lineEndOf(headerLine) };
  }
  return undefined;
}

interface Parsed {
  readonly record: string[];
  /** Bytes up to the end of its line. */
  readonly info: { readonly bytes: number };
}

function parsed(text: string, delimiter: string): readonly Parsed[] | undefined {
  try {
    return parse(text, {
      delimiter,
      bom: true,
      info: true,
      record_delimiter: LINE_ENDS,
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as Parsed[];
  } catch {
    // A quote that is not closed: nothing after it can be told apart.
    return undefined;
  }
}

const lineEndOf = (line: string): string => LINE_ENDS.find(end => line.endsWith(end)) ?? '\n';

const FORMULA = /^[\s\uFEFF\u200B]*[=+\-@＝＋－＠\t\r]/;

/** A text that no spreadsheet takes for a formula. */
export const safeCell = (text: string): string =>
  FORMULA.test(text) || /^[\t\r]/.test(text) ? `'${text}` : text;
