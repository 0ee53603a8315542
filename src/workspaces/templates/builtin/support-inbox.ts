import type { Builtin } from './builtin.js';

/** A form for questions, and an automation that makes a ticket of each. */
export const SUPPORT_INBOX: Builtin = {
  slug: 'support-inbox',
  files: {
    'template.yaml': `name: Support inbox
description: A form that people ask for help with, and an automation that makes a ticket of each question.
parameters:
  - { name: product, label: What people need help with, type: string, default: our product }
render: [README.md, forms/support.form]
next_steps:
  - Share forms/support.form as README.md says
  - Deploy automations/tickets.md as README.md says
`,
    'README.md': `# Support for {{ params.product }}

\`forms/support.form\` asks people what they need. Their questions are added to \`forms/support.csv\`, and \`automations/tickets.md\`
makes a file in \`tickets/\` of each new one, the urgent ones first in \`tickets/README.md\`.

Share the form; the answer has the link for people:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST "/api/workspaces/$WORKSPACE/forms/share" '{"path": "forms/support.form"}'
\`\`\`

Deploy the automation. It runs by itself from then on, on your authority, and writes files of this workspace alone:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/automation/deployments "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"file_path\\": \\"automations/tickets.md\\"}"
\`\`\`
`,
    'forms/support.form': `title: How can we help with {{ params.product }}?
description: We read every question.
fields:
  - id: email
    label: Where do we answer?
    type: email
    required: true
  - id: urgency
    label: How urgent is it?
    type: choice
    options: [Whenever, This week, Now]
    required: true
  - id: question
    label: What do you need?
    type: textarea
    max: 4000
    required: true
confirmation: { title: Thank you, text: We answer by mail. }
`,
    'automations/tickets.md': `---
name: Tickets
description: Makes a ticket of each question in forms/support.csv
on:
  - file: { glob: "forms/support.csv", settle: 2s }
run: node
file: scripts/tickets.mjs
concurrency: { policy: queue }
limits: { max_seconds: 60 }
---
`,
    'scripts/tickets.mjs': `// Makes tickets/<id>.md of each row of forms/support.csv, and a list of all. What people wrote is text, and nothing more.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Rows of a CSV file (RFC 4180), each by the names in the first. */
function rowsOf(text) {
  const rows = [[]];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (isQuoted && letter === '"' && text[at + 1] === '"') cell += text[++at];
    else if (letter === '"') isQuoted = !isQuoted;
    else if (!isQuoted && letter === ',') rows.at(-1).push(cell), (cell = '');
    else if (!isQuoted && letter === '\\n') rows.at(-1).push(cell.replace(/\\r$/, '')), rows.push([]), (cell = '');
    else cell += letter;
  }
  if (cell !== '' || rows.at(-1).length > 0) rows.at(-1).push(cell);
  const [names = [], ...others] = rows.filter(row => row.length > 1);
  return others.map(row => Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])));
}

const tickets = existsSync('forms/support.csv') ? rowsOf(readFileSync('forms/support.csv', 'utf8')) : [];
const rank = { Now: 0, 'This week': 1, Whenever: 2 };
const fileOf = ({ id }) => \`\${String(id).replace(/[^\\w-]/g, '_')}.md\`;
mkdirSync('tickets', { recursive: true });
let made = 0;
for (const ticket of tickets) {
  const path = \`tickets/\${fileOf(ticket)}\`;
  if (existsSync(path)) continue;
  const quoted = ticket.question.split('\\n').map(line => \`> \${line}\`).join('\\n');
  writeFileSync(path, \`# \${ticket.urgency}: \${ticket.email}\\n\\n\${quoted}\\n\`);
  made++;
}
const sorted = [...tickets].sort((a, b) => (rank[a.urgency] ?? 3) - (rank[b.urgency] ?? 3));
const list = sorted.map(ticket => \`- [\${ticket.urgency}](\${fileOf(ticket)}): \${ticket.email}\`);
writeFileSync('tickets/README.md', \`# Tickets\\n\\n\${list.join('\\n')}\\n\`);
writeFileSync(process.env.ATELIER_OUTPUT, JSON.stringify({ tickets: tickets.length, made }));
console.log(\`\${made} new tickets\`);
`,
  },
};
