import { type Html, html } from '#libs/html/index.js';
import { plainName } from '#libs/plain-text/index.js';
import type { Entry } from '#libs/workspace-fs/index.js';
import {
  countInWords,
  icon,
  SAVE_ICON,
  type SharePage,
  sizeInWords,
  timeInWords,
} from '../../exposure/index.js';
import { iconFor } from './file-page.js';
import { crumbs, type Location, nameOf, toAddress } from './location.js';

export interface FolderView {
  readonly location: Location;
  readonly entries: readonly Entry[];
  readonly cut: boolean;
  readonly sort: Sort;
  readonly savable: boolean;
  readonly readme?: Html;
}

const COLUMNS = {
  name: { title: 'Name', compare: (a: Entry, b: Entry) => collator.compare(a.path, b.path) },
  size: { title: 'Size', compare: (a: Entry, b: Entry) => a.size - b.size },
  date: { title: 'Modified', compare: (a: Entry, b: Entry) => a.modified_at.localeCompare(b.modified_at) },
};
type Column = keyof typeof COLUMNS;
export interface Sort {
  readonly by: Column;
  readonly down: boolean;
}
const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** What `?sort=` asks for: a column, with a minus for the other way round. */
export function readSort(query: unknown): Sort {
  const [, minus, column] = /^(-?)(name|size|date)$/.exec(String(query)) ?? [];
  return { by: (column ?? 'name') as Column, down: minus === '-' };
}

export function folderPage(view: FolderView): SharePage {
  const { location, entries, savable, cut, readme } = view;
  const title = nameOf(location);
  const folders = entries.filter(({ type }) => type === 'directory').length;
  const facts = [
    folders > 0 && countInWords(folders, 'folder', 'folders'),
    countInWords(entries.length - folders, 'file', 'files'),
  ];
  const body = html`${crumbs(location)}
<div class="head"><div><h1>${title}</h1><p class="meta">${facts.filter(Boolean).join(', ')}</p></div>
${savable && entries.length > 0 && saveAll(location)}</div>
<div class="card">${entries.length > 0 ? table(view) : EMPTY}</div>
${cut && html`<p class="note">There is more in this folder than is shown here.</p>`}
${readme && html`<section class="card prose" aria-label="Read me">${readme}</section>`}`;
  return { title, body, tellsTimes: true };
}

const EMPTY = html`<div class="empty">${icon('folder')}<p>This folder is empty.</p></div>`;

const saveAll = ({ home, within }: Location) =>
  html`<a class="button" href="${toAddress(home, within)}?download=1">${SAVE_ICON}Download all</a>`;

function table({ location, entries, sort }: FolderView): Html {
  return html`<table class="files">
<thead><tr>${heading('name', '', location, sort)}${heading('size', 'num', location, sort)}${heading('date', 'when', location, sort)}</tr></thead>
<tbody>${sorted(entries, sort).map(entry => row(entry, location))}</tbody>
</table>`;
}

function heading(column: Column, kind: string, { home, within }: Location, { by, down }: Sort): Html {
  const isSorted = by === column;
  const next = isSorted && !down ? `-${column}` : column;
  const state = isSorted ? (down ? 'descending' : 'ascending') : 'none';
  return html`<th scope="col" class="${kind}" aria-sort="${state}"><a href="${toAddress(home, within)}?sort=${next}">${COLUMNS[column].title}</a></th>`;
}

function row({ path, type, size, modified_at }: Entry, { home, within }: Location): Html {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isFolder = type === 'directory';
  const address = toAddress(home, within === '' ? name : `${within}/${name}`);
  return html`<tr><td><a href="${address}">${icon(isFolder ? 'folder' : iconFor(name))}<span>${plainName(name)}</span></a></td><td class="num">${isFolder ? '—' : sizeInWords(size)}</td><td class="when">${timeInWords(modified_at)}</td></tr>
`;
}

/** Folders come first either way. */
function sorted(entries: readonly Entry[], { by, down }: Sort): Entry[] {
  const { compare } = COLUMNS[by];
  const order = (a: Entry, b: Entry) => (down ? compare(b, a) : compare(a, b)) || COLUMNS.name.compare(a, b);
  const ofType = (isFolder: boolean) =>
    entries.filter(({ type }) => (type === 'directory') === isFolder).sort(order);
  return [...ofType(true), ...ofType(false)];
}
