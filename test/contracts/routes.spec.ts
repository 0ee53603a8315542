import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiDescription } from '../../src/api-description.js';
import type { Client, Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

interface Route {
  method: string;
  path: string;
  operation: Json;
  name: string;
}

const document = await apiDescription();
const schemas = document.components?.schemas as Record<string, Json>;
const routes: Route[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Json>).map(([verb, operation]) => {
    const method = verb.toUpperCase();
    return { method, path, operation, name: `${method} ${path}` };
  }),
);
const isPublic = ({ operation }: Route) => operation['x-public'] === true;
const isWrite = ({ method }: Route) => method !== 'GET';
const jsonBody = ({ operation }: Route): Json => operation.requestBody?.content?.['application/json']?.schema;
/** Routes for programs with a token of their own; how they are closed is tested with the actions. */
const takesExecToken = ({ operation }: Route) => operation['x-exec-token'] === true;
const closed = routes.filter(route => !isPublic(route) && !takesExecToken(route));

/** Ids that the victim's things have, by the name of the path parameter, query or body field. */
let ids: Record<string, string>;
let service: TestService;
let victim: Person;
let outsider: Person;
let viewer: Person;

beforeAll(async () => {
  service = await TestService.start();
  victim = await service.person('Victim');
  outsider = await service.person('Outsider');
  viewer = await service.person('Viewer');
  const workspace = await service.workspace(victim, { visibility: 'restricted' });
  await service.join(viewer, {
    organization: victim.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
  await victim.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: 'notes/plan.md',
    content: 'teh plan',
  });
  const sent = await victim.client.post('/api/agent/message', { workspace_id: workspace, message: 'list' });
  const key = await victim.client.post('/api/keys', { name: 'CI' });
  const organization_id = victim.organizationId;
  const account = await victim.client.post('/api/service-accounts', {
    organization_id,
    name: 'Bot',
    role: 'member',
  });
  const accountKey = await victim.client.post(`/api/service-accounts/${account.body.id}/keys`, {
    name: 'CI',
  });
  const invitation = await victim.client.post(`/api/organizations/${organization_id}/invitations`, {
    email: 'new@example.com',
  });
  const shared = await victim.client.post('/api/share', { workspace_id: workspace, path: 'notes/plan.md' });
  const fileInvitation = await victim.client.post('/api/file-invitations', {
    workspace_id: workspace,
    path: 'notes/plan.md',
    email: 'new@example.com',
  });
  await victim.client.get(`/api/agent/status/${sent.body.call_id}?wait=30`);
  const sessions = await victim.client.get('/api/auth/sessions');
  const ran = await victim.client.post('/api/actions/file_list/run', { workspace_id: workspace });
  const versions = await victim.client.get(`/api/workspaces/${workspace}/files/history`);
  const duplicate = await victim.client.post(`/api/workspaces/${workspace}/duplicate`, { name: 'Copy' });
  const [approval] = await service.database.query<{ id: string }>(
    `insert into approval (id, subject_kind, organization_id, workspace_id, tool, effect, requested_by, status, expires_at, created_at)
     values (gen_random_uuid(), 'mcp_call', $1, $2, 'file_delete', 'destructive', $3, 'pending', now() + interval '1 day', now())
     returning id`,
    [organization_id, workspace, victim.id],
  );
  ids = {
    approvalId: approval?.id ?? '',
    operations: duplicate.body.operation_id,
    version: versions.body.items[0].id,
    auth: sessions.body.items[0].id,
    workspaceId: workspace,
    workspace_id: workspace,
    sandboxId: workspace,
    toolName: 'bash',
    orgId: victim.organizationId,
    organization_id: victim.organizationId,
    callId: sent.body.call_id,
    messageId: sent.body.message_id,
    chat_id: sent.body.chat_id,
    chats: sent.body.chat_id,
    keys: key.body.id,
    userId: viewer.id,
    user_id: viewer.id,
    'service-accounts': account.body.id,
    keyId: accountKey.body.id,
    invitations: invitation.body.id,
    name: 'file_write',
    'action-runs': ran.body.run_id,
    grants: await grantOf(victim),
    share: shared.body.id,
    'file-invitations': fileInvitation.body.id,
  };
});
afterAll(() => service.stop());

/** An application that `person` let in. */
async function grantOf(person: Person): Promise<string> {
  const [row] = await service.database.query<{ id: string }>(
    `insert into oauth_grant (id, user_id, client_id, client_name, scopes, resources, terms, created_at, expires_at)
     values (gen_random_uuid(), $1, 'app_x', 'X', '{read}', '{}', '{}', now(), now() + interval '1 day') returning id`,
    [person.id],
  );
  return row?.id ?? '';
}

/** The value that the description gives as an example, with the victim's ids where an id is wanted. */
function exampleOf(schema: Json, name: string): Json {
  if (schema.$ref) return bodyOf(schemas[schema.$ref.split('/').at(-1)]);
  if (schema.allOf) return exampleOf(schema.allOf[0], name);
  if (ids[name]) return ids[name];
  return schema.example ?? schema.default ?? (schema.type === 'array' ? [] : 'text');
}

const nameOf = (schema: Json) => Object.keys(schemas).find(name => schemas[name] === schema) ?? '';

/** Of several optional fields, the one that a call is made with. */
const CHOSEN: Record<string, string> = {
  StopRuns: 'chat_id',
  '/api/agent/runs': 'chat_id',
  EditQueuedMessage: 'position',
};

function bodyOf(schema: Json, extra: Json = {}): Json {
  const required: string[] = schema.required ?? [];
  const named = Object.keys(schema.properties).filter(name =>
    ['workspace_id', 'input', CHOSEN[nameOf(schema)]].includes(name),
  );
  const fields = [...new Set([...required, ...named])];
  return {
    ...Object.fromEntries(fields.map(name => [name, exampleOf(schema.properties[name], name)])),
    ...extra,
  };
}

/** `{id}` is an id of the collection whose name stands before it. */
const collectionOf = (path: string, name: string) => path.split(`/{${name}}`)[0]?.split('/').at(-1) ?? '';

function addressOf({ path, operation }: Route): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? ids[collectionOf(path, name)] ?? name);
  const query = (operation.parameters ?? [])
    .filter(
      (parameter: Json) =>
        parameter.in === 'query' && (parameter.required || parameter.name === CHOSEN[path]),
    )
    .map(
      (parameter: Json) => `${parameter.name}=${encodeURIComponent(ids[parameter.name] ?? 'notes/plan.md')}`,
    );
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

/** Calls a route with what its description says it takes, and checks that the answer is one that it lists. */
async function call(client: Client, route: Route, extra?: Json): Promise<{ status: number; body: Json }> {
  const schema = jsonBody(route);
  const body = schema ? { body: JSON.stringify(bodyOf(schemas[schema.$ref.split('/').at(-1)], extra)) } : {};
  const type = schema ? { 'content-type': 'application/json' } : {};
  const response = await client.raw(route.method, addressOf(route), {
    ...body,
    headers: type as Record<string, string>,
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  // A stream may have no end; that it began is all there is to see.
  if (isStream) await response.body?.cancel();
  const text = isStream ? '' : await response.text();
  expect(Object.keys(route.operation.responses)).toContain(String(response.status));
  if (response.status < 400) return { status: response.status, body: undefined };
  const answer = JSON.parse(text);
  expect(answer).toEqual({ detail: expect.stringMatching(/^\S.*\S$/s) });
  return { status: response.status, body: answer };
}

describe.each(closed)('$name', route => {
  it('is closed to callers without a credential', async () => {
    expect((await call(service.stranger, route)).status).toBe(401);
  });

  it('needs the scope that its action names', async () => {
    const key = await service.key(victim, { scopes: ['models:read'] });
    const open = ['GET /api/auth/principal', 'GET /api/models'];
    const { status } = await call(key, route);
    expect(status).toBe(open.includes(route.name) ? 200 : 403);
  });
});

/** The catalog is the same for all. */
const isCatalog = ({ name }: Route) => name === 'GET /api/actions/{name}';

const namesSomething = (route: Route) =>
  (route.path.includes('{') && !isCatalog(route)) ||
  (jsonBody(route) && 'workspace_id' in schemas[jsonBody(route).$ref.split('/').at(-1)].properties);

describe.each(closed.filter(namesSomething))('$name', route => {
  it('does not exist for a stranger', async () => {
    expect((await call(outsider.client, route)).status).toBe(404);
  });
});

const inWorkspace = (route: Route) =>
  namesSomething(route) &&
  !/orgId|\/keys|\/sessions|\/grants|service-accounts|action-runs|file-invitations\//.test(route.path);

describe.each(closed.filter(route => isWrite(route) && inWorkspace(route)))('$name', route => {
  it('is forbidden to a viewer', async () => {
    expect((await call(viewer.client, route)).status).toBe(403);
  });
});

describe.each(closed.filter(route => !isWrite(route) && inWorkspace(route)))('$name', route => {
  it('is open to a viewer', async () => {
    expect((await call(viewer.client, route)).status).toBe(200);
  });
});

describe.each(routes.filter(route => jsonBody(route) && !takesExecToken(route)))('$name', route => {
  it('refuses a field that it does not know', async () => {
    const { status, body } = await call(victim.client, route, { created_by: 'somebody else' });
    expect(status).toBe(422);
    expect(body.detail).toContain('created_by');
  });

  it('refuses a body that is a list, and one that is not JSON', async () => {
    const send = (text: string) => victim.client.json(route.method, addressOf(route), text);
    expect(await send('[]')).toMatchObject({
      status: 422,
      body: { detail: 'The body must be a JSON object' },
    });
    expect((await send('{"a"')).status).toBe(400);
  });
});

describe('the description', () => {
  it.each(routes)('says what $name does', ({ operation }) => {
    expect(operation.summary).toMatch(/^[A-Z].{5,}/);
    expect(operation.tags).toHaveLength(1);
  });

  it.each(Object.entries(schemas))('has an example for every field of %s', (_name, schema) => {
    const lacking = Object.entries<Json>(schema.properties)
      .filter(
        ([, { example, $ref, allOf, items, nullable }]) =>
          example === undefined && !$ref && !allOf && !items?.$ref && !nullable,
      )
      .map(([name]) => name);
    expect(lacking).toEqual([]);
  });
});

describe('what is no route', () => {
  it.each([
    ['GET', '/api/nothing'],
    ['DELETE', '/api/health'],
    ['GET', '/%zz'],
  ])('%s %s answers a detail', async (method, path) => {
    const { status, headers, body } = await service.stranger.json(method, path);
    expect([400, 404, 405]).toContain(status);
    expect(body).toEqual({ detail: expect.any(String) });
    expect(headers.get('x-request-id')).toBeTruthy();
  });

  it('echoes a request id that can be logged, and makes one instead of any other', async () => {
    const echoed = await service.stranger.with({ 'x-request-id': 'abc-123' }).get('/api/health');
    expect(echoed.headers.get('x-request-id')).toBe('abc-123');
    const replaced = await service.stranger.with({ 'x-request-id': 'a b"c' }).get('/api/health');
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});
