import { parse } from 'csv-parse/sync';
import { type Html, html } from '../../../platform/pages/index.js';

const MOST_ROWS = 500;
const MOST_COLUMNS = 50;
const NUMBER = /^[-+]?[\d.,\s]+%?$/;

/** A CSV text as a table: its first row as the heading; undefined where it is no CSV after all. */
export function renderSheet(text: string, name: string): { table: Html; cut: boolean } | undefined {
  const [header, ...rows] = records(text, name) ?? [];
  if (!header) return undefined;
  const width = Math.min(MOST_COLUMNS, Math.max(header.length, ...rows.map(row => row.length)));
  const columns = Array.from({ length: width }, (_, index) => index);
  const isNumber = columns.map(column => isNumeric(rows.map(row => row[column] ?? '')));
  const cell = (column: number, row: string[], tag: 'th' | 'td') => {
    const kind = isNumber[column] ? 'n' : '';
    return tag === 'th'
      ? html`<th scope="col" class="${kind}">${row[column] ?? ''}</th>`
      : html`<td class="${kind}">${row[column] ?? ''}</td>`;
  };
  const shown = rows.slice(0, MOST_ROWS);
  const table = html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="sheet">
<thead><tr><th scope="col"></th>${columns.map(column => cell(column, header, 'th'))}</tr></thead>
<tbody>${shown.map((row, index) => html`<tr><th scope="row">${index + 1}</th>${columns.map(column => cell(column, row, 'td'))}</tr>\n`)}</tbody>
</table></div>`;
  return { table, cut: rows.length > shown.length || header.length > width };
}

function records(text: string, name: string): string[][] | undefined {
  try {
    return parse(text, {
      delimiter: delimiterOf(text, name),
      bom: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MOST_ROWS + 2,
    });
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('CSV_')) return undefined;
    throw error;
  }
}

/** Many programs write semicolons where the comma is the decimal sign. */
function delimiterOf(text: string, name: string): string {
  if (/\.tsv$/i.test(name)) return '\t';
  const [line = ''] = text.split('\n', 1);
  const count = (sign: string) => line.split(sign).length;
  return [';', '\t'].find(sign => count(sign) > count(',')) ?? ',';
}

function isNumeric(values: string[]): boolean {
  const filled = values.filter(value => value.trim() !== '');
  return filled.length > 0 && filled.every(value => NUMBER.test(value.trim()) && /\d/.test(value));
}
