import { parse } from 'csv-parse/sync';
import MarkdownIt from 'markdown-it';

const { escapeHtml } = new MarkdownIt().utils;

const MAX_ROWS = 500;
const MAX_COLUMNS = 50;
const NUMBER = /^[-+]?[\d.,\s]+%?$/;

export interface SheetPreview {
  readonly html: string;
  /** Only the first rows and columns are there. */
  readonly cut: boolean;
}

/** A CSV text as a table: its first row as the heading; undefined where it is no CSV after all. */
export function renderSheet(text: string, name: string): SheetPreview | undefined {
  const [header, ...rows] = records(text, name) ?? [];
  if (!header) return undefined;
  const width = Math.min(MAX_COLUMNS, Math.max(header.length, ...rows.map(row => row.length)));
  const columns = Array.from({ length: width }, (_, index) => index);
  const kinds = columns.map(column => (isNumeric(rows.map(row => row[column] ?? '')) ? 'n' : ''));
  const cells = (row: string[], tag: string, end: string) =>
    columns
      .map(column => `<${tag} class="${kinds[column]}">${escapeHtml(row[column] ?? '')}</${end}>`)
      .join('');
  const shown = rows.slice(0, MAX_ROWS);
  const body = shown.map(
    (row, index) => `<tr><th scope="row">${index + 1}</th>${cells(row, 'td', 'td')}</tr>\n`,
  );
  const html = `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="sheet">
<thead><tr><th scope="col"></th>${cells(header, 'th scope="col"', 'th')}</tr></thead>
<tbody>${body.join('')}</tbody>
</table></div>`;
  return { html, cut: rows.length > shown.length || header.length > width };
}

function records(text: string, name: string): string[][] | undefined {
  try {
    return parse(text, {
      delimiter: delimiterOf(text, name),
      bom: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_ROWS + 2,
    });
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('CSV_')) return undefined;
    throw error;
  }
}

/** Many programs write semicolons where the comma is the decimal sign. */
function delimiterOf(text: string, name: string): string {
  if (/\.tsv$/i.test(name)) return '\t';
  const [line = ''] = text.split(/[\r\n]/, 1);
  const count = (sign: string) => line.split(sign).length;
  return [';', '\t'].find(sign => count(sign) > count(',')) ?? ',';
}

function isNumeric(values: string[]): boolean {
  const filled = values.filter(value => value.trim() !== '');
  return filled.length > 0 && filled.every(value => NUMBER.test(value.trim()) && /\d/.test(value));
}
