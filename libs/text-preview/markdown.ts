import MarkdownIt from 'markdown-it';

/** Where relative links and pictures of a text lead: an address, or undefined for nowhere. */
export type Resolve = (path: string) => string | undefined;

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

/** Markdown as HTML, without its front matter. */
export function renderMarkdown(text: string, resolve: Resolve): string {
  return parser.render(text.replace(/^---\n[\s\S]*?\n---\n/, ''), { resolve });
}

function linkTo(href: string, resolve: Resolve): string | undefined {
  if (href.startsWith('#')) return href;
  if (isElsewhere(href)) return /^(https?|mailto):/i.test(href) ? href : undefined;
  return resolve(withoutTail(href));
}

const isElsewhere = (address: string) => /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(address);
const withoutTail = (address: string) => address.replace(/[?#].*$/s, '');
