import type { Answer, Client, Json } from './client.js';

/** Writes, deploys and runs automations of one workspace, as one caller. */
export class Automations {
  constructor(
    readonly client: Client,
    readonly workspaceId: string,
  ) {}

  async write(path: string, content: string): Promise<void> {
    const { status, body } = await this.client.put(`/api/workspaces/${this.workspaceId}/files/content`, {
      path,
      content,
    });
    if (status !== 200) throw new Error(`writing answered ${status}: ${JSON.stringify(body)}`);
  }

  /** Writes an automation with this front matter and body; its path. */
  async file(name: string, matter: string, body = ''): Promise<string> {
    const path = `automations/${name}.md`;
    await this.write(path, `---\n${matter.trim()}\n---\n${body}`);
    return path;
  }

  script(name: string, code: string, matter = '', language = 'bash'): Promise<string> {
    return this.file(name, `run: ${language}\n${matter}`, `\`\`\`${language}\n${code}\n\`\`\`\n`);
  }

  ask(path: string, body: Json = {}): Promise<Answer<Json>> {
    return this.client.post(`/api/automation/${path}`, { workspace_id: this.workspaceId, ...body });
  }

  /** Deploys what must be fit for it. */
  async deploy(file_path: string): Promise<Json> {
    return expectOk(await this.ask('deployments', { file_path }));
  }

  async stop(file_path: string, more: Json = {}): Promise<Json> {
    return expectOk(await this.ask('deployments/stop', { file_path, ...more }));
  }

  async deployment(id: string): Promise<Json> {
    return expectOk(await this.client.get(`/api/automation/deployments/${id}`));
  }

  /** Starts it by hand; the run as it is at its end. */
  async run(file_path: string, more: Json = {}): Promise<Json> {
    return this.ended(await this.start(file_path, more));
  }

  async start(file_path: string, more: Json = {}): Promise<Json> {
    return expectOk(await this.ask('trigger', { file_path, ...more }));
  }

  async ended({ run_id }: Json): Promise<Json> {
    for (;;) {
      const run = expectOk(await this.client.get(`/api/automation/runs/${run_id}?wait=60`));
      if (run.state === 'done') return run;
    }
  }

  async runs(query = ''): Promise<Json[]> {
    const path = `/api/automation/runs?workspace_id=${this.workspaceId}${query}`;
    return expectOk(await this.client.get(path)).items;
  }

  async deliveries(query = ''): Promise<Json[]> {
    const path = `/api/automation/deliveries?workspace_id=${this.workspaceId}${query}`;
    return expectOk(await this.client.get(path)).items;
  }

  async fileText(path: string): Promise<string> {
    const asked = `/api/workspaces/${this.workspaceId}/files/download?path=${encodeURIComponent(path)}`;
    const response = await this.client.raw('GET', asked);
    return response.status === 200 ? response.text() : `status ${response.status}`;
  }
}

function expectOk({ status, body }: Answer<Json>): Json {
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
