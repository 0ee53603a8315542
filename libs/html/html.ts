const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as it must stand in HTML, in elements and in quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');

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

interface DocumentParts {
  readonly title: string;
  readonly style: string;
  readonly body: string;
  /** What programs that make previews read, by the names of properties: `og:title`. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** A whole document, for whatever stands in its body; `style` and `body` are CSS and HTML already. */
export function documentHtml({ title, style, body, meta = {} }: DocumentParts): string {
  const properties = Object.entries(meta).map(
    ([name, content]) => `<meta property="${escapeHtml(name)}" content="${escapeHtml(content)}">\n`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
${properties.join('')}<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`;
}
