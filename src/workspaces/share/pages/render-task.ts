import { renderMarkdown } from './markdown.js';
import { type Beside, resolveFrom } from './relative-links.js';
import { renderSheet } from './sheet.js';

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
