import { parse } from 'csv-parse/sync';
import MarkdownIt from 'markdown-it';
import { Html, html } from '#libs/html/index.js';
import { type Beside, type Resolve, resolveFrom } from './location.js';

const nowhere: Resolve = () => undefined;
/** Travels with a text through the renderer. */
type Env = Record<string, unknown> | undefined;

const resolverOf = (env: Env): Resolve => (env?.resolve as Resolve | undefined) ?? nowhere;

/** Raw HTML stays text, and links to anything that runs are refused by the parser itself. */
const parser = new MarkdownIt({ html: false, linkify: true, typographer: false });

parser.renderer.rules.link_open = (tokens, index, options, env, renderer) => {
  const token = tokens[index];
  const address = token && linkTo(String(token.attrGet('href') ?? ''), resolverOf(env));
  token?.attrs?.splice(0);
  if (token && address) {
    token.attrSet('href', address);
    token.attrSet('rel', 'noreferrer nofollow');
  }
  return renderer.renderToken(tokens, index, options);
};

/** The parser aligns by style attributes, which the page's policy refuses. */
for (const rule of ['th_open', 'td_open'])
  parser.renderer.rules[rule] = (tokens, index, options, _env, renderer) => {
    const token = tokens[index];
    const style = String(token?.attrGet('style') ?? '');
    token?.attrs?.splice(0);
    if (style.includes('right')) token?.attrSet('class', 'n');
    return renderer.renderToken(tokens, index, options);
  };

/** A picture from elsewhere would tell its host who reads this; it becomes a link. */
parser.renderer.rules.image = (tokens, index, options, env, renderer) => {
  const token = tokens[index];
  const { escapeHtml } = parser.utils;
  const words = escapeHtml(renderer.renderInlineAsText(token?.children ?? [], options, env));
  const source = String(token?.attrGet('src') ?? '');
  const address = isElsewhere(source) ? undefined : resolverOf(env)(withoutTail(source));
  if (address) return `<img src="${escapeHtml(address)}?raw=1" alt="${words}" loading="lazy">`;
  if (!/^https?:/i.test(source)) return words;
  return `<a href="${escapeHtml(source)}" rel="noreferrer nofollow">${words || escapeHtml(source)}</a>`;
};

export function renderMarkdown(text: string, resolve: Resolve): Html {
  return new Html(parser.render(text.replace(/^---\n[\s\S]*?\n---\n/, ''), { resolve }));
}

function linkTo(href: string, resolve: Resolve): string | undefined {
  if (href.startsWith('#')) return href;
  if (isElsewhere(href)) return /^(https?|mailto):/i.test(href) ? href : undefined;
  return resolve(withoutTail(href));
}

const isElsewhere = (address: string) => /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(address);
const withoutTail = (address: string) => address.replace(/[?#].*$/s, '');

const MAX_ROWS = 500;
const MAX_COLUMNS = 50;
const NUMBER = /^[-+]?[\d.,\s]+%?$/;

/** A CSV text as a table: its first row as the heading; undefined where it is no CSV after all. */
export function renderSheet(text: string, name: string): { table: Html; cut: boolean } | undefined {
  const [header, ...rows] = records(text, name) ?? [];
  if (!header) return undefined;
  const width = Math.min(MAX_COLUMNS, Math.max(header.length, ...rows.map(row => row.length)));
  const columns = Array.from({ length: width }, (_, index) => index);
  const isNumber = columns.map(column => isNumeric(rows.map(row => row[column] ?? '')));
  const cell = (column: number, row: string[], tag: 'th' | 'td') => {
    const kind = isNumber[column] ? 'n' : '';
    return tag === 'th'
      ? html`<th scope="col" class="${kind}">${row[column] ?? ''}</th>`
      : html`<td class="${kind}">${row[column] ?? ''}</td>`;
  };
  const shown = rows.slice(0, MAX_ROWS);
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
  const [line = ''] = text.split('\n', 1);
  const count = (sign: string) => line.split(sign).length;
  return [';', '\t'].find(sign => count(sign) > count(',')) ?? ',';
}

function isNumeric(values: string[]): boolean {
  const filled = values.filter(value => value.trim() !== '');
  return filled.length > 0 && filled.every(value => NUMBER.test(value.trim()) && /\d/.test(value));
}

/** What a text looks like, as HTML. */
export interface Rendered {
  readonly html: string;
  /** Only its beginning is shown. */
  readonly cut: boolean;
}

/** Runs in a worker thread: Markdown can be written that takes the parser minutes. */
export function markdown({ text, beside }: { text: string; beside: Beside }): Rendered {
  return { html: renderMarkdown(text, resolveFrom(beside)).text, cut: false };
}

/** Runs in a worker thread. Undefined where it is no table after all. */
export function sheet({ text, name }: { text: string; name: string }): Rendered | undefined {
  const found = renderSheet(text, name);
  return found && { html: found.table.text, cut: found.cut };
}
