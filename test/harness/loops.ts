import type { Answer, Client, Json, StreamEvent } from './client.js';

/** Makes and follows loops of one workspace, as one caller. */
export class Loops {
  constructor(
    readonly client: Client,
    readonly workspaceId: string,
    readonly defaults: Json = {},
  ) {}

  ask(fields: Json): Promise<Answer<Json>> {
    return this.client.post('/api/loops', { workspace_id: this.workspaceId, ...this.defaults, ...fields });
  }

  /** Makes one that must be accepted. */
  async start(fields: Json): Promise<Json> {
    return expectOk(await this.ask(fields));
  }

  async run(fields: Json): Promise<Json> {
    return this.ended(await this.start(fields));
  }

  async read({ id }: Json): Promise<Json> {
    return expectOk(await this.client.get(`/api/loops/${id}`));
  }

  /** The loop as it is when it has ended. */
  async ended({ id }: Json): Promise<Json> {
    await this.events({ id });
    return this.read({ id });
  }

  events({ id }: Json, query = ''): Promise<StreamEvent[]> {
    return this.client.events(`/api/loops/${id}/events${query}`);
  }

  /** Resolves with the first event that is looked for. */
  async until({ id }: Json, seen: (event: StreamEvent) => boolean): Promise<StreamEvent> {
    const events = await this.client.events(`/api/loops/${id}/events`, { until: seen });
    const last = events.at(-1);
    if (!last || !seen(last))
      throw new Error(`the loop ended before: ${events.map(({ event }) => event).join(', ')}`);
    return last;
  }

  async stop({ id }: Json): Promise<Json> {
    return expectOk(await this.client.post(`/api/loops/${id}/stop`, {}));
  }

  resume({ id }: Json, fields: Json = {}): Promise<Answer<Json>> {
    return this.client.post(`/api/loops/${id}/resume`, fields);
  }

  async write(path: string, content: string): Promise<void> {
    expectOk(await this.client.put(`/api/workspaces/${this.workspaceId}/files/content`, { path, content }));
  }
}

function expectOk({ status, body }: Answer<Json>): Json {
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
