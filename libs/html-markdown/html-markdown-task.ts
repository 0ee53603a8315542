import { gfm } from '@joplin/turndown-plugin-gfm';
import TurndownService from 'turndown';

/** What an element of a page is to us. */
interface Element {
  getAttribute(name: string): string | null;
}

export interface HtmlPage {
  readonly html: string;
  /** What relative links are relative to. */
  readonly base: string;
}

export interface MarkdownPage {
  readonly title: string | null;
  readonly markdown: string;
}

/** What is no part of the text that a reader sees. */
const UNREAD = [
  'script',
  'style',
  'noscript',
  'template',
  'iframe',
  'object',
  'canvas',
  'svg',
  'title',
] as const;
const MAX_TITLE = 300;

/** The text of a page as Markdown. Its time is up to the page: for a thread with a deadline. */
export function htmlToMarkdown({ html, base }: HtmlPage): MarkdownPage {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  });
  turndown.use(gfm);
  turndown.remove([...UNREAD] as never);
  turndown.addRule('link', {
    filter: ({ nodeName }) => nodeName === 'A',
    replacement: (content, node) => {
      const address = addressOf((node as unknown as Element).getAttribute('href'), base);
      const text = content.trim();
      return address && text ? `[${text.replace(/\s*\n\s*/g, ' ')}](${address})` : content;
    },
  });
  turndown.addRule('image', {
    filter: 'img',
    replacement: (_, node) => {
      const words = (node as unknown as Element).getAttribute('alt')?.replace(/\s+/g, ' ').trim();
      const address = addressOf((node as unknown as Element).getAttribute('src'), base);
      return address && words ? `![${words}](${address})` : '';
    },
  });
  const markdown = turndown
    .turndown(html)
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return { title: titleOf(html), markdown };
}

/** Whole, without what only leads about in the page; undefined for what runs, or carries its content with it. */
function addressOf(link: string | null, base: string): string | undefined {
  if (!link || link.startsWith('#')) return undefined;
  const url = URL.parse(link.trim(), base);
  if (!url || !/^(https?|mailto):$/.test(url.protocol)) return undefined;
  return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
}

function titleOf(html: string): string | null {
  const start = /<title\b[^<>]{0,200}>/i.exec(html.slice(0, 65_536));
  if (!start) return null;
  const from = start.index + start[0].length;
  const text = html.slice(from, from + MAX_TITLE * 4).split('<', 1)[0] ?? '';
  const plain = new TurndownService().turndown(`<p>${text}</p>`).replace(/\\(.)/g, '$1');
  return plain.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE).toWellFormed() || null;
}
