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

/**
 * Adds rows to a file that people may have changed. Columns are found by their names, and those that are missing are added
 * at the end; a row whose id is there is not added again. Runs in a worker thread: the file may have megabytes.
 */
export function addRows({ bytes, columns, rows }: CsvInput): CsvOutput {
  const text = bytes && decoded(bytes);
  if (text === undefined) return { text };
  const table =
    text === null || text.trim() === '' ? { header: [] as string[], body: [], delimiter: ',' } : read(text);
  if (!table) return { text: undefined };
  const { header, body, delimiter } = table;
  const missing = columns.filter(column => !header.includes(column));
  const place = header.indexOf(ID_COLUMN);
  const known = new Set(place < 0 ? [] : body.map(record => record[place] ?? ''));
  const added = rows.filter(({ id }) => !known.has(id));
  if (added.length === 0 && missing.length === 0 && text !== null) return { text: null };
  const names = [...header, ...missing];
  const end = '\n';
  const lines = stringify(
    added.map(({ cells }) => names.map(name => cells[name] ?? '')),
    { delimiter, record_delimiter: end },
  );
  // Of what people wrote, nothing is written anew while the columns stay.
  if (missing.length === 0 && text !== null) return { text: withFinalLine(text) + lines };
  const kept = body.map(record => [...record, ...Array(Math.max(0, names.length - record.length)).fill('')]);
  return { text: stringify([names, ...kept], { delimiter, record_delimiter: end }) + lines };
}

/** Undefined for what is no UTF-8, which would come out garbled. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const withFinalLine = (text: string): string => (/[\r\n]$/.test(text) ? text : `${text}\n`);

interface Table {
  readonly header: string[];
  readonly body: string[][];
  readonly delimiter: string;
}

/** Undefined where the first line does not name our id, once. Spreadsheets save with other delimiters. */
function read(text: string): Table | undefined {
  for (const delimiter of [',', ';', '\t']) {
    const records = parsed(text, delimiter);
    const [header = [], ...body] = records ?? [];
    const names = header.map(name => name.trim());
    const isWhole =
      names.filter(name => name === ID_COLUMN).length === 1 &&
      new Set(names.filter(Boolean)).size === names.filter(Boolean).length;
    if (isWhole) return { header: names, body, delimiter };
  }
  return undefined;
}

function parsed(text: string, delimiter: string): string[][] | undefined {
  try {
    return parse(text, { delimiter, bom: true, relax_column_count: true, skip_empty_lines: true });
  } catch {
    // A quote that is not closed: nothing after it can be told apart.
    return undefined;
  }
}

const FORMULA = /^[\s\uFEFF\u200B]*[=+\-@＝＋－＠\t\r]/;

/** A text that no spreadsheet takes for a formula. */
export const safeCell = (text: string): string =>
  FORMULA.test(text) || /^[\t\r]/.test(text) ? `'${text}` : text;
