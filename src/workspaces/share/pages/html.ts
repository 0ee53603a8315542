import { escapeHtml } from '../../../platform/http/html.js';

type Part = Html | string | number | false | undefined | readonly Html[];

/** HTML of our own making. Text becomes a part of it through {@link html} alone, which escapes it. */
export class Html {
  constructor(readonly text: string) {}
}

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((all, text, index) => all + written(parts[index - 1]) + text));
}

function written(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(one => one.text).join('') : escapeHtml(String(part));
}
