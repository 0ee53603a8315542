import { renderMarkdown, renderSheet, type SheetPreview } from '#libs/text-preview/index.js';
import { type Beside, resolveFrom } from './location.js';

/** A text as what it means, as HTML. */
export type Rendered = SheetPreview;

/** Runs in a worker thread: Markdown can be written that takes the parser minutes. */
export function markdown({ text, beside }: { text: string; beside: Beside }): Rendered {
  return { html: renderMarkdown(text, resolveFrom(beside)), cut: false };
}

/** Runs in a worker thread. Undefined where it is no table after all. */
export function sheet({ text, name }: { text: string; name: string }): Rendered | undefined {
  return renderSheet(text, name);
}
