import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { AuthService, SetupToken } from './identity/auth/index.js';
import { KeysService } from './identity/keys/index.js';
import { OrganizationsStore } from './identity/organizations/index.js';
import { type Actor, randomSecret } from './platform/access/index.js';
import type { Config } from './platform/config/index.js';
import { newId } from './platform/database/index.js';
import { WorkspacesService } from './workspaces/core/index.js';
import { FileWritesService } from './workspaces/files/index.js';

/** What the first workspace of an installation holds. */
export const WELCOME_FILES: Readonly<Record<string, string>> = {
  'README.md': `# Welcome

This is a workspace: a folder that people and agents share. Send a message to an agent and it works on these files, with
the same tools that you have over the API.

- \`notes/plan.md\`: something to read and mend
- \`data/cities.csv\`: something to count and sort
- \`scripts/largest.sh\`: something to run
- \`site/index.html\`: something to publish: docs/sites.md of the service says how
- \`server/server.js\`: something to start and reach: docs/servers.md of the service says how
- \`forms/feedback.form\`: something to share and fill in: docs/forms.md of the service says how
- \`automations/city-report.md\`: something that runs by itself: docs/automations.md of the service says how
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
  'automations/city-report.md': `---
name: City report
description: Writes the three largest cities into reports/cities.md
on:
  - schedule: { cron: "0 9 * * 1-5", timezone: UTC }
  - file: { glob: "data/*.csv" }
run: bash
limits: { max_seconds: 60 }
expect: { files: ["reports/cities.md"] }
---
\`\`\`bash
mkdir -p reports
{ echo '# The largest cities'; bash scripts/largest.sh | sed 's/^/- /'; } > reports/cities.md
cat reports/cities.md
\`\`\`
`,
  'scripts/largest.sh': `#!/bin/bash
# The three largest cities.
tail -n +2 data/cities.csv | sort -t, -k3 -nr | head -3 | cut -d, -f1
`,
  'site/index.html': `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Hello</title>
    <link rel="stylesheet" href="/style.css">
  </head>
  <body>
    <h1>Hello</h1>
    <p>This page is a file of the workspace Welcome. Change it, publish the site again, and reload.</p>
  </body>
</html>
`,
  'site/404.html': `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Not here</title><link rel="stylesheet" href="/style.css"></head>
  <body><h1>Not here</h1><p><a href="/">Back to the beginning</a></p></body>
</html>
`,
  'site/style.css': `:root { color-scheme: light dark; font: 1.1rem/1.6 system-ui, sans-serif; }
body { max-width: 40rem; margin: 15vh auto; padding: 0 1rem; }
`,
  'server/server.js': `// A page with a clock: the time is sent each second, as server-sent events.
const http = require('node:http');

const page = \`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Clock</title></head>
  <body>
    <h1 id="time"></h1>
    <script>new EventSource('/time').onmessage = ({ data }) => { time.textContent = data; };</script>
  </body>
</html>\`;

http
  .createServer((request, response) => {
    if (request.url !== '/time') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      return response.end(page);
    }
    response.setHeader('Content-Type', 'text/event-stream');
    const send = () => response.write(\`data: \${new Date().toISOString()}\\n\\n\`);
    send();
    const timer = setInterval(send, 1000);
    response.on('close', () => clearInterval(timer));
  })
  .listen(process.env.PORT, () => console.log('The clock is at ' + process.env.ATELIER_SERVER_URL));
`,
  'forms/feedback.form': `title: How was it?
description: Two minutes of your time. What you write goes to **forms/feedback.csv** of this workspace.
fields:
  - id: rating
    label: How did you like it?
    type: rating
    required: true
  - id: topics
    label: What was it about?
    type: choices
    options: [Files, Agents, Sites, Forms]
  - id: comment
    label: Anything else?
    type: textarea
    max: 2000
  - id: email
    label: Your e-mail address
    type: email
    help: Only if you would like an answer.
confirmation:
  title: Thank you
  text: We read every response.
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

/** What `.atelier/credentials.json` holds. */
export interface BootCredentials {
  base_url: string;
  email: string;
  password: string;
  api_key?: string;
  organization_id?: string;
  workspace_id?: string;
}

/**
 * Gives a fresh installation an owner, an organization and a workspace to try. Each step is written down before the
 * next, so that a start that was cut off is finished by the one after it.
 */
export class FirstBoot {
  private readonly file: string;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly config: Config,
  ) {
    this.file = path.join(config.dataDir, 'credentials.json');
  }

  /** The credentials of the owner made here; undefined where the installation has an owner of its own. */
  async credentials(): Promise<BootCredentials | undefined> {
    const setupToken = await this.app.get(SetupToken, { strict: false }).renew();
    const known = this.read();
    if (!known && !setupToken) return undefined;
    const credentials = this.write(
      known ?? { base_url: '', email: 'owner@atelier.local', password: randomSecret() },
    );
    if (credentials.workspace_id) return credentials;
    const actor = await this.owner(credentials, setupToken);
    return this.furnish(actor, credentials);
  }

  private async owner({ email, password }: BootCredentials, setup_token: string | undefined): Promise<Actor> {
    const auth = this.app.get(AuthService, { strict: false });
    const from = { userAgent: 'first start', address: '127.0.0.1' };
    const { user } = setup_token
      ? await auth.register({ email, password, name: 'Owner', setup_token }, from)
      : await auth.login({ email, password }, from);
    const unlimited = { scopes: null, expires_at: null, organization_id: null, workspace_ids: null };
    return {
      type: 'user',
      id: user.id,
      name: user.name,
      email,
      credential: { type: 'session', id: newId(), ...unlimited },
    };
  }

  private async furnish(actor: Actor, credentials: BootCredentials): Promise<BootCredentials> {
    const organization_id = await this.app.get(OrganizationsStore, { strict: false }).defaultFor(actor);
    const { api_key } = await this.app
      .get(KeysService, { strict: false })
      .create(actor, { name: 'First key' });
    const workspaces = this.app.get(WorkspacesService, { strict: false });
    const { id: workspace_id } = await workspaces.create(actor, { name: 'Welcome', organization_id });
    const files = this.app.get(FileWritesService, { strict: false });
    for (const [path, content] of Object.entries(WELCOME_FILES))
      await files.write(actor, { workspace_id, path, content });
    return this.write({ ...credentials, api_key, organization_id, workspace_id });
  }

  private read(): BootCredentials | undefined {
    try {
      return JSON.parse(readFileSync(this.file, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  private write(credentials: BootCredentials): BootCredentials {
    const current = { ...credentials, base_url: this.config.baseUrl };
    const temporary = `${this.file}.new`;
    writeFileSync(temporary, `${JSON.stringify(current, null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, this.file);
    return current;
  }
}

/** What a person reads when the service is up: where it is, and a first run to paste. */
export function welcome(config: Config, credentials: BootCredentials | undefined): string {
  const url = config.baseUrl;
  if (!credentials) return `\nAtelier is ready at ${url} (API description: ${url}/docs)\n\n`;
  const file = path.join(config.dataDir, 'credentials.json');
  return `
Atelier is ready at ${url}

  API description   ${url}/docs
  Your credentials  ${file} (readable by you alone)

Send a first message to an agent; paste this into another terminal in this folder:

  field() { sed -n "s/.*\\"$1\\": \\"\\(.*\\)\\".*/\\1/p" ${file}; }
  KEY=$(field api_key) WORKSPACE=$(field workspace_id)

  CALL=$(curl -s ${url}/api/agent/message -H "X-API-Key: $KEY" -H 'Content-Type: application/json' \\
    -d "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"message\\": \\"list\\nwrite hello.txt: Hello from an agent\\nrun cat hello.txt && date\\"}" \\
    | sed 's/.*"call_id":"\\([^"]*\\)".*/\\1/')

  # watch it work
  curl -sN "${url}/api/agent/runs/$CALL/events" -H "X-API-Key: $KEY"

  # fetch the file it made
  curl -s "${url}/api/workspaces/$WORKSPACE/files/download?path=hello.txt" -H "X-API-Key: $KEY"

README.md goes on from here: a site, a server, a form and an automation of the workspace Welcome, and a second person.

`;
}
