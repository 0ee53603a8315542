import { escapeHtml } from '#libs/html/index.js';
import { plainLine } from '#libs/plain-text/index.js';

/** What a mail says: a heading, a few sentences, at most one thing to do. */
export interface Letter {
  readonly heading: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
  /** Small print: why this mail came, what to do if it is not expected. */
  readonly footer?: string;
  /** A link in the small print. */
  readonly aside?: { readonly label: string; readonly url: string };
}

/**
 * The letter as plain text and as HTML; both say the same. Each part is one line, whatever names stand in it: a line break
 * in a name must not become a paragraph of ours.
 */
export function writeLetter({ heading, paragraphs, action, footer, aside }: Letter): {
  text: string;
  html: string;
} {
  const letter = {
    heading: plainLine(heading),
    paragraphs: paragraphs.map(plainLine),
    action: action && { label: plainLine(action.label), url: action.url },
    footer: footer === undefined ? undefined : plainLine(footer),
    aside,
  };
  return { text: asText(letter), html: asHtml(letter) };
}

function asText({ heading, paragraphs, action, footer, aside }: Letter): string {
  const parts = [heading, ...paragraphs];
  if (action) parts.push(`${action.label}:\n${action.url}`);
  if (footer) parts.push(`--\n${footer}`);
  if (aside) parts.push(`${aside.label}:\n${aside.url}`);
  return `${parts.join('\n\n')}\n`;
}

/** Styles stand in the elements: mail programs drop style sheets. */
function asHtml({ heading, paragraphs, action, footer, aside }: Letter): string {
  const body = paragraphs.map(text => `<p style="margin:0 0 16px">${escapeHtml(text)}</p>`).join('\n');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(heading)}</title></head>
<body style="margin:0;padding:32px 16px;background:#f4f4f2;color:#1d1d1b;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div style="max-width:520px;margin:0 auto;padding:32px;background:#fff;border:1px solid #e2e2de;border-radius:12px">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(heading)}</h1>
${body}
${action ? button(action) : ''}
</div>
${footer ? `<p style="max-width:520px;margin:16px auto 0;color:#6b6b66;font-size:13px">${escapeHtml(footer)}${aside ? asLink(aside) : ''}</p>` : ''}
</body>
</html>
`;
}

function button({ label, url }: { label: string; url: string }): string {
  const link = escapeHtml(url);
  return `<p style="margin:24px 0"><a href="${link}" style="display:inline-block;padding:12px 24px;background:#1d4ed8;color:#fff;border-radius:8px;text-decoration:none;font-weight:600">${escapeHtml(label)}</a></p>
<p style="margin:0;color:#6b6b66;font-size:13px;word-break:break-all">Or open this address: <a href="${link}" style="color:#1d4ed8">${link}</a></p>`;
}

const asLink = ({ label, url }: { label: string; url: string }): string =>
  ` <a href="${escapeHtml(url)}" style="color:#6b6b66">${escapeHtml(label)}</a>`;
