import type { Builtin } from './builtin.js';

/** Tables to analyse, scripts that look at them, and a subagent that does it with care. */
export const DATA_ANALYSIS: Builtin = {
  slug: 'data-analysis',
  files: {
    'template.yaml': `name: Data analysis
description: CSV files, scripts that profile and summarize them, and an analyst who writes reports with the numbers to check.
parameters:
  - { name: topic, label: What the data is about, type: string, default: Sales }
render: [README.md, AGENTS.md]
next_steps:
  - Put your own CSV files into data/
  - "Ask an agent: Which region grew fastest? Write a report."
`,
    'README.md': `# {{ params.topic }}

- \`data/\`: CSV files, with a header. Nothing changes them.
- \`scripts/profile.mjs FILE\`: rows, and for each column its type, missing values, range and most frequent values
- \`scripts/summarize.mjs FILE BY VALUE\`: count, sum, mean and median of a column, by another one
- \`reports/\`: what was found, one Markdown file for each question
- \`.agents/analyst.md\`: a subagent that answers questions with these

\`\`\`sh
node scripts/profile.mjs data/orders.csv
node scripts/summarize.mjs data/orders.csv region amount
\`\`\`
`,
    'AGENTS.md': `# How to work here

The data is about {{ params.topic }}.

- Files in \`data/\` are never changed. Cleaned copies go to \`clean/\`, with the script that made them in \`scripts/\`.
- Profile a file before you use it. Say how many rows were left out, and why.
- Compute each number with a script; never guess one, never count by eye.
- Write a report to \`reports/\`: the question, the answer in one sentence, the table behind it, the command that makes the
  table again, and what the data cannot say.
`,
    '.agents/analyst.md': `---
name: analyst
description: Answers a question about the data with computed numbers, and writes a report.
tools: [read_file, list_files, search_files, write_file, bash]
max_steps: 40
---
You analyse tables. Read AGENTS.md, then profile each file that the question needs. Write small scripts, run them, and check
each result a second way: totals must add up, groups must cover all rows. Answer with a report in reports/, as AGENTS.md says.
When the data does not answer the question, say what is missing.
`,
    'data/orders.csv': `date,region,product,quantity,amount
2026-01-05,North,Lamp,12,358.80
2026-01-09,South,Chair,4,516.00
2026-01-14,West,Desk,2,798.00
2026-01-20,North,Chair,6,774.00
2026-02-02,East,Lamp,20,598.00
2026-02-06,South,Desk,3,1197.00
2026-02-11,North,Desk,5,1995.00
2026-02-18,West,Lamp,15,448.50
2026-02-25,East,Chair,8,1032.00
2026-03-03,North,Lamp,25,747.50
2026-03-09,South,Lamp,10,299.00
2026-03-12,,Chair,3,387.00
2026-03-17,West,Chair,7,903.00
2026-03-24,North,Desk,6,2394.00
2026-03-30,East,Desk,1,
`,
    'scripts/csv.mjs': `// Rows of a CSV file (RFC 4180) as objects.
import { readFileSync } from 'node:fs';

export function readCsv(file) {
  const text = readFileSync(file, 'utf8').replace(/^\\ufeff/, '');
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
  return { header, rows: rows.map(row => Object.fromEntries(header.map((name, index) => [name, row[index] ?? '']))) };
}
`,
    'scripts/profile.mjs': `// node scripts/profile.mjs FILE
import { readCsv } from './csv.mjs';

const [file] = process.argv.slice(2);
if (!file) throw new Error('usage: node scripts/profile.mjs FILE');
const { header, rows } = readCsv(file);
console.log(\`\${file}: \${rows.length} rows, \${header.length} columns\\n\`);
for (const name of header) {
  const values = rows.map(row => row[name]).filter(value => value !== '');
  const numbers = values.map(Number);
  const isNumeric = values.length > 0 && numbers.every(Number.isFinite);
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const top = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([value, count]) => \`\${value} (\${count})\`);
  const range = isNumeric
    ? \`\${numbers.reduce((a, b) => Math.min(a, b))} to \${numbers.reduce((a, b) => Math.max(a, b))}\`
    : \`most frequent: \${top.join(', ')}\`;
  const missing = rows.length - values.length;
  console.log(\`\${name}: \${isNumeric ? 'number' : 'text'}, \${counts.size} distinct, \${missing} missing, \${range}\`);
}
`,
    'scripts/summarize.mjs': `// node scripts/summarize.mjs FILE BY VALUE
import { readCsv } from './csv.mjs';

const [file, by, value] = process.argv.slice(2);
if (!value) throw new Error('usage: node scripts/summarize.mjs FILE BY VALUE');
const { header, rows } = readCsv(file);
for (const name of [by, value])
  if (!header.includes(name)) throw new Error(\`\${file} has no column \${name}; it has \${header.join(', ')}\`);
const groups = new Map();
let leftOut = 0;
for (const row of rows) {
  const number = Number(row[value]);
  if (row[value] === '' || !Number.isFinite(number)) leftOut++;
  else groups.set(row[by], [...(groups.get(row[by]) ?? []), number]);
}
const median = sorted => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
console.log(\`\${by},count,sum,mean,median\`);
for (const [group, numbers] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const sum = numbers.reduce((a, b) => a + b, 0);
  const columns = [sum, sum / numbers.length, median(numbers.toSorted((a, b) => a - b))];
  console.log([group || '(missing)', numbers.length, ...columns.map(number => number.toFixed(2))].join(','));
}
if (leftOut > 0) console.error(\`\${leftOut} rows without a number in \${value} are left out\`);
`,
  },
};
