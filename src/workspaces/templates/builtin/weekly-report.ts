import type { Builtin } from './builtin.js';

/** An automation that writes a report each week. */
export const WEEKLY_REPORT: Builtin = {
  slug: 'weekly-report',
  files: {
    'template.yaml': `name: Weekly report
description: An automation that sums up a table each Monday and keeps one report a week.
parameters:
  - { name: team, label: Whose report it is, type: string, default: our team }
  - { name: timezone, label: The time zone of the team, type: string, default: UTC }
render: [README.md, automations/weekly-report.md]
next_steps:
  - Replace data/work.csv with your own rows
  - Deploy automations/weekly-report.md as README.md says
`,
    'README.md': `# Weekly report of {{ params.team }}

Each Monday at 8:00 ({{ params.timezone }}), \`automations/weekly-report.md\` runs \`scripts/report.mjs\`, which reads \`data/work.csv\` and
writes \`reports/<year>-W<week>.md\`. It runs once it is deployed, which is asked of a person where an agent wants it:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/automation/deployments "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"file_path\\": \\"automations/weekly-report.md\\"}"
\`\`\`

To see a report at once:

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/automation/trigger "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"file_path\\": \\"automations/weekly-report.md\\", \\"wait\\": 60}"
\`\`\`
`,
    'automations/weekly-report.md': `---
name: Weekly report
description: Sums up data/work.csv each Monday
on:
  - schedule: { cron: "0 8 * * 1", timezone: "{{ params.timezone }}", catch_up: 48h }
run: node
file: scripts/report.mjs
limits: { max_seconds: 120 }
expect: { files: ["reports/*.md"] }
alert_after: 8d
---
`,
    'scripts/report.mjs': `// Sums up the hours of data/work.csv by project.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const [, ...rows] = readFileSync('data/work.csv', 'utf8').trim().split(/\\r?\\n/);
const hours = new Map();
for (const row of rows) {
  const [, project, spent] = row.split(',');
  if (project) hours.set(project, (hours.get(project) ?? 0) + (Number(spent) || 0));
}

/** The week of a day by ISO 8601: that of its Thursday. */
function weekOf(day) {
  const thursday = new Date(day);
  thursday.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7));
  const first = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  const week = Math.ceil(((thursday - first) / 86_400_000 + 1) / 7);
  return \`\${thursday.getUTCFullYear()}-W\${String(week).padStart(2, '0')}\`;
}

const name = \`reports/\${weekOf(new Date())}.md\`;
const lines = [...hours].sort((a, b) => b[1] - a[1]).map(([project, spent]) => \`| \${project} | \${spent} |\`);
mkdirSync('reports', { recursive: true });
writeFileSync(name, ['# Hours by project', '', '| Project | Hours |', '| --- | --- |', ...lines, ''].join('\\n'));
writeFileSync(process.env.ATELIER_OUTPUT, JSON.stringify({ report: name, projects: hours.size }));
console.log(\`Wrote \${name}\`);
`,
    'data/work.csv': `day,project,hours
2026-11-16,Website,6
2026-11-16,Support,2
2026-11-17,Website,7.5
2026-11-18,Support,4
2026-11-19,Planning,3
`,
    'AGENTS.md': `# What is here

\`automations/weekly-report.md\` runs \`scripts/report.mjs\`. Check a change with the action automation_validate, and try it with
automation_trigger once a person has deployed it.
`,
  },
};
