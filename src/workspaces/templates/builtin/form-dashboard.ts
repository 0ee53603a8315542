import type { Builtin } from './builtin.js';

/** A form, and a server that shows its responses as they come. */
export const FORM_DASHBOARD: Builtin = {
  slug: 'form-dashboard',
  files: {
    'template.yaml': `name: Form with dashboard
description: A feedback form behind a public link, and a page with numbers and charts of its responses.
parameters:
  - { name: event, label: What people give feedback on, type: string, default: our workshop }
render: [README.md, forms/feedback.form]
next_steps:
  - Share forms/feedback.form as README.md says
  - Start a server of dashboard/server.mjs as README.md says
`,
    'README.md': `# Feedback on {{ params.event }}

\`forms/feedback.form\` is the form. Responses are added to \`forms/feedback.csv\`, which \`dashboard/server.mjs\` reads at each
request.

Share the form; the answer has the link for people:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST "/api/workspaces/$WORKSPACE/forms/share" '{"path": "forms/feedback.form"}'
\`\`\`

Start the dashboard; only members of the workspace see it until you open it:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/tunnels "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"name\\": \\"Dashboard\\", \\"command\\": \\"node dashboard/server.mjs\\"}"
\`\`\`
`,
    'forms/feedback.form': `title: How was {{ params.event }}?
description: Two minutes of your time.
fields:
  - id: rating
    label: How did you like it?
    type: rating
    required: true
  - id: topics
    label: What was most useful?
    type: choices
    options: [Talks, Practice, Material, People]
  - id: comment
    label: What should be different?
    type: textarea
    max: 2000
confirmation:
  title: Thank you
  text: We read every response.
`,
    'dashboard/csv.mjs': `// Rows of a CSV file (RFC 4180) as objects.
export function parseCsv(text) {
  const records = [];
  let [record, field, quoted] = [[], '', false];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') field += text[++at];
      else quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === ',') [record, field] = [[...record, field], ''];
    else if (char === '\\n') {
      records.push([...record, field.replace(/\\r$/, '')]);
      [record, field] = [[], ''];
    } else field += char;
  }
  if (field || record.length) records.push([...record, field]);
  const [header = [], ...rows] = records;
  return rows.map(row => Object.fromEntries(header.map((name, index) => [name.replace(/^\\ufeff/, ''), row[index] ?? ''])));
}
`,
    'dashboard/server.mjs': `// A page with numbers and charts of the responses, read at each request.
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { parseCsv } from './csv.mjs';

const RESPONSES = new URL('../forms/feedback.csv', import.meta.url);
const escape = text => text.replace(/[&<>"']/g, char => \`&#\${char.charCodeAt(0)};\`);

async function responses() {
  try {
    return parseCsv(await readFile(RESPONSES, 'utf8'));
  } catch (error) {
    // Nobody has answered yet.
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function bars(title, counts) {
  const most = Math.max(1, ...counts.values());
  const rows = [...counts].map(
    ([label, count]) =>
      \`<tr><th scope="row">\${escape(label)}</th><td><span style="width:\${(count / most) * 100}%"></span>\${count}</td></tr>\`,
  );
  return \`<table><caption>\${title}</caption>\${rows.join('')}</table>\`;
}

function page(rows) {
  const column = name => rows.map(row => row[name] ?? '').filter(Boolean);
  const ratings = column('rating').map(Number).filter(Number.isFinite);
  const mean = ratings.length ? (ratings.reduce((a, b) => a + b, 0) / ratings.length).toFixed(1) : 'none yet';
  const byRating = new Map([5, 4, 3, 2, 1].map(n => [String(n), ratings.filter(rating => rating === n).length]));
  const topics = new Map();
  for (const topic of column('topics').flatMap(list => list.split(/[;,]\\s*/)).filter(Boolean))
    topics.set(topic, (topics.get(topic) ?? 0) + 1);
  const comments = column('comment').slice(-20).reverse();
  return \`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="60">
    <title>Feedback</title>
    <style>
      :root { color-scheme: light dark; font: 1.05rem/1.6 system-ui, sans-serif; }
      body { max-width: 46rem; margin: 6vh auto; padding: 0 1rem; }
      table { width: 100%; border-spacing: 0 0.3rem; margin: 2rem 0; }
      caption { text-align: left; font-weight: 700; }
      th { width: 7rem; text-align: left; font-weight: 400; }
      td { display: flex; align-items: center; gap: 0.5rem; }
      td span { height: 1rem; min-width: 1px; background: #4263eb; border-radius: 0.2rem; }
      blockquote { margin: 0.8rem 0; padding-left: 1rem; border-left: 3px solid #4263eb; white-space: pre-wrap; }
    </style>
  </head>
  <body>
    <h1>Feedback</h1>
    <p>\${rows.length} responses, mean rating \${mean}</p>
    \${bars('Ratings', byRating)}
    \${bars('Most useful', topics)}
    <h2>Latest comments</h2>
    \${comments.map(text => \`<blockquote>\${escape(text)}</blockquote>\`).join('\\n') || '<p>None yet.</p>'}
  </body>
</html>
\`;
}

http
  .createServer(async (_request, response) => {
    try {
      const body = page(await responses());
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(body);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end('The responses cannot be read');
    }
  })
  .listen(process.env.PORT, () => console.log('ready'));
`,
  },
};
