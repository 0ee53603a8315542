/** What the first workspace of an installation holds. */
export const WELCOME_FILES: Readonly<Record<string, string>> = {
  'README.md': `# Welcome

This is a workspace: a folder that people and agents share. Send a message to an agent and it works on these files, with
the same tools that you have over the API.

- \`notes/plan.md\`: something to read and mend
- \`data/cities.csv\`: something to count and sort
- \`scripts/largest.sh\`: something to run
- \`.agents/reviewer.md\`: a subagent that may read and search, and change nothing
`,
  'notes/plan.md': `# Plan

1. Read teh README.
2. Ask an agent to mend the typo above.
3. Look at what it changed: GET /api/workspaces/{id}/files/history?path=notes/plan.md
`,
  'data/cities.csv': `city,country,population
Tokyo,Japan,37115000
Delhi,India,33807000
Shanghai,China,29868000
Dhaka,Bangladesh,23936000
São Paulo,Brazil,22807000
`,
  'scripts/largest.sh': `#!/bin/bash
# The three largest cities.
tail -n +2 data/cities.csv | sort -t, -k3 -nr | head -3 | cut -d, -f1
`,
  '.agents/reviewer.md': `---
name: reviewer
description: Reads what it is pointed at and says what could be better. Changes nothing.
tools: [read_file, list_files, search_files]
max_steps: 20
---
You review text and code in this workspace. Read what you are asked about, look for errors, unclear passages and missing
cases, and answer with a short list, most important first. Quote the line you mean. Do not change any file.
`,
};
