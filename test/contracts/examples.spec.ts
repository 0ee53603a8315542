import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FirstBoot, WELCOME_FILES } from '../../src/first-boot.js';
import { Config } from '../../src/platform/config/index.js';
import { SAMPLE_IDS } from '../../src/platform/dto/index.js';
import { apiDocument } from '../harness/api-document.js';
import { Client, type Json } from '../harness/client.js';
import { TestService } from '../harness/service.js';

const document = await apiDocument();
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Json>).map(([verb, operation]) => ({
    name: `${verb.toUpperCase()} ${path}`,
    method: verb.toUpperCase(),
    path,
    operation,
  })),
);
type Operation = (typeof operations)[number];

let service: TestService;
let caller: Client;
let session: Client;
let workspace: string;
/** Sample id → that of something in the workspace Welcome, as the page at /docs fills them in. */
let own: Map<string, string>;

beforeAll(async () => {
  service = await TestService.start({ REGISTRATION: 'invite' });
  const config = Config.from({ DATA_DIR: service.dataDir });
  const credentials = (await new FirstBoot(service.app, config).credentials()) as Json;
  caller = new Client(service.url, { 'x-api-key': credentials.api_key });
  const { workspace_id, organization_id, email, password } = credentials;
  workspace = workspace_id;
  const { body } = await service.stranger.post('/api/auth/login', { email, password });
  session = new Client(service.url, { authorization: `Bearer ${body.access_token}` });
  const sent = await caller.post('/api/agent/message', { workspace_id, message: 'list' });
  const { chat_id, call_id } = sent.body;
  await caller.get(`/api/agent/status/${call_id}?wait=30`);
  const ids: Record<string, string> = { workspace_id, organization_id, chat_id, call_id };
  own = new Map(Object.entries(SAMPLE_IDS).map(([field, sample]) => [sample, ids[field] ?? '']));
});
afterAll(() => service.stop());

/** The files as they are in the beginning: examples write, move and copy them. */
beforeEach(async () => {
  const files = `/api/workspaces/${workspace}/files`;
  await caller.delete(`${files}?path=archive&recursive=true`);
  await caller.put(`${files}/content`, {
    path: 'notes/plan.md',
    content: WELCOME_FILES['notes/plan.md'],
  });
  const deployed = await caller.post('/api/automation/deployments', {
    workspace_id: workspace,
    file_path: 'automations/city-report.md',
  });
  expect(deployed.status).toBe(200);
});

const withOwnIds = (text: string) =>
  [...own].reduce((filled, [sample, id]) => filled.replaceAll(sample, id), text);

/** The request that "Execute" makes when nothing is typed. */
function requestOf({ path, operation }: Operation): { address: string; body: string | undefined } {
  const parameters: Json[] = operation.parameters ?? [];
  const exampleOf = (name: string) =>
    parameters.find(parameter => parameter.name === name)?.schema.example ?? '';
  const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(exampleOf(name)));
  const query = parameters
    .filter(parameter => parameter.in === 'query' && parameter.schema.example !== undefined)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(schema.example)}`);
  const example = operation.requestBody?.content?.['application/json']?.examples?.minimal?.value;
  return {
    address: withOwnIds([address, ...(query.length > 0 ? [query.join('&')] : [])].join('?')),
    body: example && withOwnIds(JSON.stringify(example)),
  };
}

/** What a newcomer cannot have yet: something of their own to name, a second person, a mailed token, a password typed here. */
const NEEDS_MORE =
  /\{(id|token|userId|keyId|messageId|approvalId|questionId|sandboxId|version|agentName|invitationId|siteId|serverId|provider)\}|actions-exec|notifications\/push$|\/auth\/(?!me|principal)|organizations\/\{orgId\}\/(transfer|leave)|files\/(extract|restore|upload)/;
const isStream = ({ operation }: Operation) =>
  JSON.stringify(operation.responses).includes('text/event-stream');
/** It takes a host that sandboxes may reach. */
const CLONES = 'POST /api/git-repos';
const tried = operations.filter(
  operation =>
    operation.name !== CLONES &&
    !NEEDS_MORE.test(operation.path) &&
    !isStream(operation) &&
    operation.method !== 'DELETE',
);

describe('an example', () => {
  it.each(tried)('of $name works in Welcome as it is', async operation => {
    const { address, body } = requestOf(operation);
    const client = operation.operation['x-session-only'] ? session : caller;
    const response = await client.raw(operation.method, address, {
      ...(body === undefined ? {} : { body }),
      headers: (body === undefined ? {} : { 'content-type': 'application/json' }) as Record<string, string>,
    });
    const text = await response.text();
    expect([response.status, response.status < 300 ? '' : `${address} ${body} ${text}`]).toEqual([200, '']);
  });

  it.each(operations.filter(({ operation }) => operation.requestBody?.content?.['application/json']))(
    'of $name has what its shape requires, and no field that it does not know',
    ({ operation }) => {
      const { schema, examples } = operation.requestBody.content['application/json'];
      const shape = document.components?.schemas?.[schema.$ref.split('/').at(-1)] as Json;
      const fields = Object.keys(examples.minimal.value);
      expect(fields).toEqual(expect.arrayContaining(shape.required ?? []));
      expect(Object.keys(shape.properties)).toEqual(expect.arrayContaining(fields));
    },
  );

  it('prefills no Idempotency-Key: a second try would be refused', () => {
    for (const { operation } of operations)
      for (const parameter of operation.parameters ?? [])
        if (parameter.in === 'header') expect(parameter).not.toHaveProperty('example');
  });
});

describe('the groups of routes', () => {
  it('are all described, those that newcomers need first', () => {
    const tags = document.tags ?? [];
    expect(tags.slice(0, 3).map(({ name }) => name)).toEqual(['agent', 'chats', 'workspaces']);
    for (const { description } of tags) expect(description).toMatch(/^[A-Z].{10,}/);
  });
});
