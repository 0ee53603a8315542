import { FakeOpenAi } from '../fakes/openai-server.js';
import type { Client, Json, StreamEvent } from './client.js';
import { freePort } from './free-port.js';
import { type Person, TestService } from './service.js';

/** Sends messages to agents and watches their runs, as one caller. */
export class AgentClient {
  constructor(readonly client: Client) {}

  /** Sends a message that must be accepted. */
  async send(message: string, fields: Json = {}): Promise<Json> {
    const { status, body } = await this.client.post('/api/agent/message', { message, ...fields });
    if (status !== 200) throw new Error(`sending answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** How the run stands when it has ended. */
  async ended({ call_id }: Json): Promise<Json> {
    for (;;) {
      const { status, body } = await this.client.get(`/api/agent/status/${call_id}?wait=60`);
      if (status !== 200) throw new Error(`the status answered ${status}: ${JSON.stringify(body)}`);
      if (body.status !== 'pending') return body;
    }
  }

  /** Sends a message and waits for the end of its run. */
  async run(message: string, fields: Json = {}): Promise<Json> {
    return this.ended(await this.send(message, fields));
  }

  /** All events of a run, up to its end. */
  events({ call_id }: Json, query = ''): Promise<StreamEvent[]> {
    return this.client.events(`/api/agent/runs/${call_id}/events${query}`);
  }

  /** The events of a run up to the one that is the `count`th of its kind. */
  eventsUntil({ call_id }: Json, kind: string, count: number): Promise<StreamEvent[]> {
    let left = count;
    return this.client.events(`/api/agent/runs/${call_id}/events`, {
      until: ({ event }) => event === kind && --left === 0,
    });
  }

  /** How a run stands now. */
  async status({ call_id }: Json, client = this.client): Promise<Json> {
    return (await client.get(`/api/agent/status/${call_id}`)).body;
  }

  stop({ call_id }: Json): Promise<Json> {
    return this.client.post('/api/agent/stop', { call_id });
  }

  /** Resolves with the first event of the run that is looked for. */
  async until({ call_id }: Json, seen: (event: StreamEvent) => boolean): Promise<StreamEvent> {
    const events = await this.client.events(`/api/agent/runs/${call_id}/events`, { until: seen });
    const last = events.at(-1);
    if (!last || !seen(last))
      throw new Error(`the run ended before: ${events.map(({ event }) => event).join(', ')}`);
    return last;
  }
}

/** What a reader saw: the streamed text of all steps, without what was declared void. */
export function textOf(events: StreamEvent[]): string {
  const steps = new Map<number, string>();
  for (const { event, data } of events) {
    if (event === 'text.delta') steps.set(data.step, (steps.get(data.step) ?? '') + data.text);
    if (event === 'step.restarted') steps.delete(data.step);
  }
  return [...steps.values()].join('');
}

/** The messages of a request to an OpenAI-compatible model. */
export function messagesOf({ body }: { body: Record<string, unknown> }): Json[] {
  return body.messages as Json[];
}

/** What tests of agents stand on: a service whose one model is a script, and somebody who talks to agents. */
export interface AgentGround {
  model: FakeOpenAi;
  service: TestService;
  ada: Person;
  agent: AgentClient;
  /** What the service was told, of the model first of all; further processes on its database need it, too. */
  environment: Record<string, string>;
  stop: () => Promise<void>;
}

export async function startAgents(more: Record<string, string> = {}): Promise<AgentGround> {
  const model = await FakeOpenAi.start();
  const environment = { OPENAI_COMPATIBLE_BASE_URL: model.url, OPENAI_COMPATIBLE_MODELS: 'fake', ...more };
  const service = await TestService.start(environment);
  const ada = await service.person('Ada');
  const stop = async () => {
    await service.stop();
    await model.stop();
  };
  return { model, service, ada, agent: new AgentClient(ada.client), environment, stop };
}

/** Agents whose links lead to the service, and people of each role in a workspace of Ada's that others do not see. */
export interface AgentCrew extends AgentGround {
  editor: Person;
  viewer: Person;
  stranger: Person;
  workspace_id: string;
}

export async function startCrew(more: Record<string, string> = {}): Promise<AgentCrew> {
  const port = String(await freePort());
  const ground = await startAgents({ PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, ...more });
  const { service, ada } = ground;
  const [editor, viewer, stranger] = await Promise.all([
    service.person('Grace Editor'),
    service.person('Vera Viewer'),
    service.person('Stranger'),
  ]);
  const workspace_id = await service.workspace(ada, { name: 'Field notes', visibility: 'restricted' });
  const place = { organization: ada.organizationId, role: 'guest', workspace: workspace_id };
  await service.join(editor, { ...place, workspaceRole: 'editor' });
  await service.join(viewer, { ...place, workspaceRole: 'viewer' });
  return { ...ground, editor, viewer, stranger, workspace_id };
}
