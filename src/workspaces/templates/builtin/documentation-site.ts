import type { Builtin } from './builtin.js';

/** A site of Markdown files, built with Eleventy. */
export const DOCUMENTATION_SITE: Builtin = {
  slug: 'documentation-site',
  files: {
    'template.yaml': `name: Documentation site
description: Markdown pages with navigation and a search field, built with Eleventy and published as a site.
parameters:
  - { name: title, label: Title of the site, type: string, default: Handbook }
render: [README.md, site/title.txt, site/docs/index.md]
next_steps:
  - Allow sandboxes to connect to registry.npmjs.org, so that the build can install Eleventy
  - Make a site of the folder site as README.md says
`,
    'README.md': `# {{ params.title }}

Pages are Markdown files in \`site/docs/\`, in the order of \`order\` in their front matter. With \`BASE\`, \`KEY\` and the id of this
workspace:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/sites "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"name\\": \\"{{ params.title }}\\", \\"folder\\": \\"site\\"}"
api POST "/api/sites/$SITE/versions" '{"auto_promote": true}' # with the id of the answer
\`\`\`

Each version that you publish is kept; an older one is made live again at any time.
`,
    'AGENTS.md': `# How to write here

- One page answers one question. Its first sentence says which.
- Short sentences, present tense, the words that readers search for.
- Each page has \`title\` and \`order\` in its front matter. Links between pages are relative: \`[Install](/install/)\`.
- Code is tried before it is written down.
- Run \`npm run build\` in \`site\` after a change, and read its warnings.
`,
    'site/package.json': `{
  "name": "documentation-site",
  "private": true,
  "type": "module",
  "scripts": { "build": "eleventy", "dev": "eleventy --serve --port $PORT" },
  "devDependencies": { "@11ty/eleventy": "^3.1.2" }
}
`,
    'site/eleventy.config.mjs': `import { readFileSync } from 'node:fs';

export default function (config) {
  config.addGlobalData('site', { title: readFileSync('title.txt', 'utf8').trim() });
  config.addPassthroughCopy({ 'assets/': '/assets/' });
  config.addCollection('pages', collection =>
    collection.getFilteredByGlob('docs/**/*.md').sort((a, b) => (a.data.order ?? 99) - (b.data.order ?? 99)),
  );
  config.addFilter('words', html => html.replace(/<[^>]*>/g, ' ').replace(/\\s+/g, ' ').trim());
}

export const config = { dir: { input: 'docs', includes: '../_layouts', output: '_site' }, markdownTemplateEngine: false };
`,
    'site/title.txt': `{{ params.title }}
`,
    'site/docs/docs.json': `{ "layout": "page.njk" }
`,
    'site/docs/index.md': `---
title: Welcome
order: 1
---
This is the first page of {{ params.title }}. Change it in \`site/docs/index.md\`.

- [Install](/install/) says how to begin.
- [Write a page](/write/) says how to add to this site.
`,
    'site/docs/install.md': `---
title: Install
order: 2
---
Say here how to begin: what is needed, the commands to type, and what a reader sees when it worked.
`,
    'site/docs/write.md': `---
title: Write a page
order: 3
---
Add a Markdown file to \`site/docs/\`, with a title and an order:

\`\`\`yaml
---
title: Backup
order: 4
---
\`\`\`

The page appears in the navigation, and in the search.
`,
    'site/docs/search.njk': `---
permalink: /search.json
layout: null
eleventyExcludeFromCollections: true
---
[{% for page in collections.pages %}{{ { url: page.url, title: page.data.title, text: page.content | words } | dump | safe }}{% if not loop.last %},{% endif %}{% endfor %}]
`,
    'site/_layouts/page.njk': `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>{{ title }} · {{ site.title }}</title>
    <link rel="stylesheet" href="/assets/style.css">
    <script src="/assets/search.js" defer></script>
  </head>
  <body>
    <header>
      <a class="name" href="/">{{ site.title }}</a>
      <label>Search <input id="search" type="search" autocomplete="off"></label>
    </header>
    <nav aria-label="Pages">
      <ul>
        {%- for entry in collections.pages %}
        <li><a href="{{ entry.url }}"{% if entry.url == page.url %} aria-current="page"{% endif %}>{{ entry.data.title }}</a></li>
        {%- endfor %}
      </ul>
      <ul id="found" aria-live="polite"></ul>
    </nav>
    <main>
      <h1>{{ title }}</h1>
      {{ content | safe }}
    </main>
  </body>
</html>
`,
    'site/assets/style.css': `:root { color-scheme: light dark; font: 1.05rem/1.65 system-ui, sans-serif; }
body { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; display: grid; grid-template-columns: 13rem 1fr; gap: 0 3rem; }
header { grid-column: 1 / -1; display: flex; justify-content: space-between; align-items: baseline; padding: 1.5rem 0; }
.name { font-weight: 700; text-decoration: none; color: inherit; }
nav ul { list-style: none; padding: 0; }
nav a { display: block; padding: 0.2rem 0; color: inherit; text-decoration: none; }
nav a:hover, nav a[aria-current] { text-decoration: underline; text-underline-offset: 0.25em; }
main { min-width: 0; padding-bottom: 4rem; }
pre { overflow-x: auto; padding: 0.9rem; border-radius: 0.4rem; background: color-mix(in srgb, currentColor 8%, transparent); }
input { font: inherit; padding: 0.2rem 0.5rem; }
@media (max-width: 45rem) { body { display: block; } header { flex-wrap: wrap; gap: 0.5rem; } }
`,
    'site/assets/search.js': `// Searches titles and texts of all pages, in the browser.
const [field, list] = [document.getElementById('search'), document.getElementById('found')];
let pages;
field.addEventListener('input', async () => {
  pages ??= await (await fetch('/search.json')).json();
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const fits = ({ title, text }) => words.every(word => \`\${title} \${text}\`.toLowerCase().includes(word));
  const items = (words.length ? pages.filter(fits) : []).map(({ url, title }) => {
    const [item, link] = [document.createElement('li'), document.createElement('a')];
    Object.assign(link, { href: url, textContent: title });
    item.append(link);
    return item;
  });
  list.replaceChildren(...items);
});
`,
  },
};
