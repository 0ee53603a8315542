import mime from 'mime';
import { Html, html } from '#libs/html/index.js';
import type { Entry } from '#libs/workspace-fs/index.js';
import {
  countInWords,
  type IconName,
  icon,
  SAVE_ICON,
  type SharePage,
  sizeInWords,
  timeInWords,
} from '../../exposure/index.js';
import { crumbs, type Location, nameOf, toAddress } from './location.js';
import type { Rendered } from './render-task.js';

export type Showing = 'image' | 'pdf' | 'audio' | 'video' | 'markdown' | 'csv' | 'text';

/** Endings of program text that are registered for media. */
const PROGRAM_TEXT = /\.(ts|mts|cts)$/i;

/** By its name alone. What is `text` may turn out to be none. */
export function chooseShowing(name: string): Showing {
  if (/\.(md|markdown)$/i.test(name)) return 'markdown';
  if (/\.(csv|tsv)$/i.test(name)) return 'csv';
  // With a slash before it: a bare name without a dot would be taken for an extension.
  const type = (!PROGRAM_TEXT.test(name) && mime.getType(`/${name}`)) || '';
  if (type === 'application/pdf') return 'pdf';
  if (/^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)) return 'image';
  const [, media] = /^(audio|video)\//.exec(type) ?? [];
  return (media as Showing | undefined) ?? 'text';
}

/** Whether a page shows it by its bytes, which a link for looking must then give out. */
export const isShownByBytes = (name: string): boolean =>
  ['image', 'pdf', 'audio', 'video'].includes(chooseShowing(name));

export function iconFor(name: string): IconName {
  const showing = chooseShowing(name);
  if (showing === 'csv') return 'table';
  if (showing !== 'markdown' && showing !== 'text') return showing;
  const type = mime.getType(`/${name}`) ?? (name.includes('.') ? '' : 'text/plain');
  return /^text\/|json|javascript|xml|yaml|toml|sql|sh$/.test(type) || PROGRAM_TEXT.test(name)
    ? 'text'
    : 'file';
}

export interface FileView {
  readonly location: Location;
  readonly entry: Entry;
  readonly savable: boolean;
  /** What it says, where it is text that is not too long. */
  readonly text?: { readonly content: string; readonly cut: boolean; readonly lines: number };
  /** The text as what it means; absent where it is shown as it is written. */
  readonly rendered?: Rendered;
}

interface Preview {
  readonly body: Html;
  readonly cut?: boolean;
}

export function filePage(view: FileView): SharePage {
  const { location, entry, savable } = view;
  const title = nameOf(location);
  const { body, cut } = preview(view, title);
  const save =
    savable && html`<a class="button" href="${hrefOf(location)}?download=1">${SAVE_ICON}Download</a>`;
  const lines = view.text && isRead(chooseShowing(title)) && countInWords(view.text.lines, 'line', 'lines');
  return {
    title,
    showsPdf: chooseShowing(title) === 'pdf',
    tellsTimes: true,
    body: html`${crumbs(location)}
<div class="head"><div><h1>${title}</h1><p class="meta">${sizeInWords(entry.size)}${lines && ` · ${lines}`} · ${timeInWords(entry.modified_at)}</p></div>${save}</div>
${body}
${(cut || view.text?.cut) && html`<p class="note">Only the beginning is shown.</p>`}`,
  };
}

const isRead = (showing: Showing) => ['text', 'markdown'].includes(showing);
const hrefOf = ({ home, within }: Location) => toAddress(home, within);

function preview(view: FileView, name: string): Preview {
  const source = `${hrefOf(view.location)}?raw=1`;
  switch (chooseShowing(name)) {
    case 'image':
      return { body: html`<div class="card picture"><img src="${source}" alt="${name}"></div>` };
    case 'audio':
      return {
        body: html`<div class="card picture"><audio controls preload="metadata" src="${source}"></audio></div>`,
      };
    case 'video':
      return {
        body: html`<div class="card picture"><video controls preload="metadata" src="${source}"></video></div>`,
      };
    case 'pdf':
      return { body: pdf(source, view, name) };
    default:
      return view.text ? written(view, name, view.text.content) : { body: card(view, name) };
  }
}

function written({ rendered }: FileView, name: string, content: string): Preview {
  if (!rendered) return { body: listing(content) };
  const body = new Html(rendered.html);
  if (chooseShowing(name) === 'markdown')
    return { body: html`<article class="card prose">${body}</article>` };
  return { body: html`<div class="card">${body}</div>`, cut: rendered.cut };
}

function listing(content: string): Html {
  const lines = content.replace(/\n$/, '').split('\n');
  return html`<div class="card"><pre class="code"><code>${lines.map(
    (line, index) => html`<span id="L${index + 1}">${line.replace(/\r$/, '')}</span>`,
  )}</code></pre></div>`;
}

function pdf(source: string, view: FileView, name: string): Html {
  return html`<div class="card"><object class="paper" type="application/pdf" data="${source}" aria-label="${name}">${card(view, name)}</object></div>`;
}

function card({ location, entry, savable }: FileView, name: string): Html {
  const save = html`<a class="button" href="${hrefOf(location)}?download=1">${SAVE_ICON}Download ${sizeInWords(entry.size)}</a>`;
  return html`<div class="card empty">${icon(iconFor(name))}<p><strong>${name}</strong>There is no preview of this file.</p>${savable && save}</div>`;
}
