import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { AgentClient, type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { freePort } from '../../harness/free-port.js';

/** Servers as their authors publish them. */
class PublishedServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  static async start(name: string, args: readonly string[] = []): Promise<PublishedServer> {
    const program = path.resolve(import.meta.dirname, '../../../node_modules', name, 'dist/index.js');
    const port = await freePort();
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH, PORT: `${port}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream }).on('line', line => {
          said.push(line);
          if (line.includes('listening on')) resolve();
        });
      child.once('exit', () => reject(new Error(`${name} ended: ${said.join('\n')}`)));
    });
    return new PublishedServer(child, port);
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}

let everything: PublishedServer;
let budgets: PublishedServer;
let ground: AgentGround;
let workspace_id: string;

beforeAll(async () => {
  [everything, budgets] = await Promise.all([
    PublishedServer.start('@modelcontextprotocol/server-everything', ['streamableHttp']),
    PublishedServer.start('@modelcontextprotocol/server-budget-allocator'),
  ]);
  ground = await startAgents({ OUTGOING_PRIVATE_HOSTS: `${everything.host},${budgets.host}` });
  workspace_id = await ground.service.workspace(ground.ada);
});
afterEach(() => ground.model.clear());
afterAll(async () => {
  await ground.stop();
  await Promise.all([everything.stop(), budgets.stop()]);
});

/** A connector of the server whose tools are approved as they are; returns what they are called by. */
async function connect(name: string, { host }: PublishedServer): Promise<Map<string, string>> {
  const { client, organizationId } = ground.ada;
  const made = await client.post('/api/connectors', {
    organization_id: organizationId,
    owner: 'organization',
    name,
    url: `http://${host}/mcp`,
    auth: 'none',
  });
  const { id } = made.body;
  const tested = await client.post(`/api/connectors/${id}/test`);
  expect(tested.body).toMatchObject({ ok: true });
  const { items }: Json = (await client.get(`/api/connectors/${id}/tools?limit=200`)).body;
  const approve = items.map(({ name, hash }: Json) => ({ name, hash }));
  // What a server does not call harmless is asked about at each call, unless a person who looked at it says what it does.
  const effects = Object.fromEntries(items.map((tool: Json) => [tool.name, 'read']));
  expect((await client.put(`/api/connectors/${id}/tools`, { approve, effects })).status).toBe(200);
  const granted = await client.put(`/api/connectors/${id}/workspaces`, { grants: [{ workspace_id }] });
  expect(granted.status).toBe(200);
  return new Map(items.map(({ name, call_name }: Json) => [name, call_name]));
}

/** What an agent is answered that calls these tools one after the other. */
async function answers(calls: readonly Json[]): Promise<Json[]> {
  for (const call of calls) ground.model.reply({ tools: [call] });
  ground.model.reply({ text: 'done' });
  const { result } = await new AgentClient(ground.ada.client).run('go', { workspace_id });
  return result.toolOutputs;
}

it('agents use the tools of the reference server', async () => {
  const names = await connect('Everything', everything);
  expect(names.size).toBeGreaterThan(10);
  const call = (name: string, input: Json = {}) => ({ name: names.get(name), input });
  const outputs = await answers([
    call('echo', { message: 'good morning' }),
    call('get-sum', { a: 19, b: 23 }),
    call('get-sum', { a: 'nineteen', b: 23 }),
    call('get-structured-content', { location: 'Chicago' }),
    call('trigger-long-running-operation', { duration: 1, steps: 4 }),
    call('get-resource-links', { count: 2 }),
    call('get-tiny-image'),
  ]);
  expect(outputs.map(({ is_error }) => is_error)).toEqual([false, false, true, false, false, false, false]);
  const texts = outputs.map(({ output }) => output);
  expect(texts[0]).toContain('good morning');
  expect(texts[1]).toContain('42');
  expect(texts[2]).toContain('/a: must be number');
  expect(texts[3]).toContain('temperature');
  expect(texts[4]).toContain('completed');
  expect(texts[5]).toContain('demo://resource');
  const [, file = ''] = /is in the file (\S+\.png)/.exec(texts[6]) ?? [];
  const picture = await fetch(
    `${ground.service.url}/api/workspaces/${workspace_id}/files/download?path=${encodeURIComponent(file)}`,
    { headers: ground.ada.client.headers },
  );
  expect(
    Buffer.from(await picture.arrayBuffer())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
});

it('agents use a server of the present SDK that was made for other clients', async () => {
  const names = await connect('Budgets', budgets);
  const [data] = await answers([{ name: names.get('get-budget-data'), input: {} }]);
  expect(data).toMatchObject({ is_error: false, output: expect.stringContaining('Marketing') });
});
