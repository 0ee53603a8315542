import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { validate as isUuid } from 'uuid';
import { type Permission, POLICY } from '../../src/platform/access/index.js';
import type { Client, Json } from '../harness/client.js';
import {
  addressOf,
  bodySchemaOf,
  closedRoutes,
  type Ids,
  idsFor,
  makeThings,
  type Route,
  routes,
  sampleBody,
  schemas,
  takesExecToken,
} from '../harness/routes.js';
import { type Person, TestService } from '../harness/service.js';

const isWrite = ({ method, operation }: Route) => method !== 'GET' && operation['x-effect'] !== 'read';

/** Ids that the victim's things have, by the name of the path parameter, query or body field. */
let ids: Ids;
let service: TestService;
let victim: Person;
let outsider: Person;
let viewer: Person;

beforeAll(async () => {
  service = await TestService.start();
  victim = await service.person('Victim');
  outsider = await service.person('Outsider');
  viewer = await service.person('Viewer');
  ids = await makeThings(service, victim, viewer);
});
afterAll(() => service.stop());

/** Calls a route with what its description says it takes, and checks that the answer is one that it lists. */
async function call(
  client: Client,
  route: Route,
  extra?: Json,
): Promise<{ status: number; body: Json; text: string }> {
  const schema = bodySchemaOf(route);
  const named = idsFor(route, ids);
  const body = schema ? { body: JSON.stringify(sampleBody(schema, named, extra)) } : {};
  const type = schema ? { 'content-type': 'application/json' } : {};
  const response = await client.raw(route.method, addressOf(route, named), {
    ...body,
    headers: type as Record<string, string>,
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  // A stream may have no end; that it began is all there is to see.
  if (isStream) await response.body?.cancel();
  const text = isStream ? '' : await response.text();
  expect(Object.keys(route.operation.responses)).toContain(String(response.status));
  if (response.status < 400) return { status: response.status, body: undefined, text };
  const answer = JSON.parse(text);
  expect(answer).toEqual({ detail: expect.stringMatching(/^\S.*\S$/s) });
  return { status: response.status, body: answer, text };
}

describe.each(closedRoutes)('$name', route => {
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

describe.each(closedRoutes.filter(({ operation }) => operation['x-session-only'] === true))(
  '$name',
  route => {
    it('is refused to a key, whatever that may do', async () => {
      const { status, body } = await call(await service.key(victim), route);
      expect([status, body.detail]).toEqual([403, expect.stringContaining('your own sign-in')]);
    });
  },
);

/** The catalog is the same for all. */
const isCatalog = ({ name }: Route) => name === 'GET /api/actions/{name}';

const namesSomething = (route: Route) =>
  (route.path.includes('{') && !isCatalog(route)) ||
  'workspace_id' in (bodySchemaOf(route)?.properties ?? {});

describe.each(closedRoutes.filter(namesSomething))('$name', route => {
  it('does not exist for a stranger', async () => {
    expect((await call(outsider.client, route)).status).toBe(404);
  });
});

/** What the role in a workspace decides. Invited files are open to who accepted the invitation alone. */
const inWorkspace = (route: Route) => {
  const { 'x-permission': permission, 'x-on': on = {} } = route.operation;
  const isInvited = Object.values(on).includes('invited_file');
  return namesSomething(route) && POLICY[permission as Permission]?.on === 'workspace' && !isInvited;
};

describe.each(closedRoutes.filter(route => isWrite(route) && inWorkspace(route)))('$name', route => {
  it('is forbidden to a viewer', async () => {
    expect((await call(viewer.client, route)).status).toBe(403);
  });
});

describe.each(closedRoutes.filter(route => !isWrite(route) && inWorkspace(route)))('$name', route => {
  it('is open to a viewer', async () => {
    expect((await call(viewer.client, route)).status).toBe(200);
  });
});

/**
 * Routes of an account or an organization that a credential limited to some workspaces may use, and what its answers are
 * limited to. Every other one refuses it.
 */
const OPEN_TO_LIMITED: Readonly<Record<string, string>> = {
  'GET /api/auth/principal': 'who it acts as',
  'GET /api/auth/me': 'who it acts as',
  'GET /api/organizations': 'organizations of its workspaces',
  'GET /api/organizations/{orgId}': 'name of the organization of its workspaces',
  'GET /api/organizations/{orgId}/roles': 'what roles mean, the same for all',
  'GET /api/organizations/{orgId}/audit': 'entries about its workspaces',
  'GET /api/organizations/{orgId}/billing': 'usage of its workspaces, and no budget',
  'GET /api/organizations/{orgId}/billing/usage': 'usage of its workspaces',
  'GET /api/organizations/{orgId}/exposure-limit': 'a limit on its workspaces',
  'GET /api/share/exposed': 'what its workspaces expose',
  'GET /api/workspaces': 'its workspaces',
  'GET /api/templates': 'templates of the service and of its workspaces',
  'GET /api/connectors': 'connectors granted to its workspaces',
  'GET /api/integrations': 'connections granted to its workspaces',
  'GET /api/integrations/providers': 'services that can be connected, without accounts',
  'GET /api/integrations/providers/{provider}': 'a service that can be connected, without accounts',
  'GET /api/models': 'models that its agents use',
  'GET /api/actions': 'the catalog, the same for all',
  'GET /api/actions/{name}': 'the catalog, the same for all',
  'POST /api/actions/{name}/run': 'each action decides',
  'GET /api/action-runs': 'runs of actions in its workspaces',
  'GET /api/notifications': 'notifications about its workspaces',
  'GET /api/notifications/events': 'notifications about its workspaces',
  'GET /api/notifications/types': 'the same for all',
  'GET /api/notifications/push/key': 'the same for all',
  'POST /api/notifications/read-all': 'notifications about its workspaces',
};

describe('a credential limited to some workspaces', () => {
  const credentials: Client[] = [];
  let outside: string[];

  beforeAll(async () => {
    const { organizationId: organization_id } = victim;
    const limits = { workspace_ids: [await service.workspace(victim, { name: 'Elsewhere' })] };
    const account = { organization_id, name: 'Limited', role: 'admin' };
    const { body } = await victim.client.post('/api/service-accounts', account);
    const key = await victim.client.post(`/api/service-accounts/${body.id}/keys`, { name: 'CI', ...limits });
    credentials.push(
      await service.key(victim, limits),
      service.stranger.with({ 'x-api-key': key.body.api_key }),
    );
    // The session that made its workspace is in the audit log of that.
    const shared = [organization_id, ids.session_id];
    outside = Object.values(ids).filter(id => isUuid(id) && !shared.includes(id));
  });

  it.each(closedRoutes)('reaches no further by $name', async route => {
    const { name, operation } = route;
    const isWithin = POLICY[operation['x-permission'] as Permission]?.on === 'workspace';
    const reason = OPEN_TO_LIMITED[name];
    for (const client of credentials) {
      const { status, text } = await call(client, route);
      if (reason) expect(status === 403 && client === credentials[0]).toBe(false);
      else if (!isWithin || status >= 400) expect([403, 404]).toContain(status);
      expect(outside.filter(id => text.includes(id))).toEqual([]);
    }
  });

  it('is told of routes that exist', () => {
    const names = closedRoutes.map(({ name }) => name);
    expect(Object.keys(OPEN_TO_LIMITED).filter(name => !names.includes(name))).toEqual([]);
  });
});

describe.each(routes.filter(route => bodySchemaOf(route) && !takesExecToken(route)))('$name', route => {
  it('refuses a field that it does not know', async () => {
    const { status, body } = await call(victim.client, route, { created_by: 'somebody else' });
    expect(status).toBe(422);
    expect(body.detail).toContain('created_by');
  });

  it('refuses a body that is a list, and one that is not JSON', async () => {
    const send = (text: string) =>
      victim.client.json(route.method, addressOf(route, idsFor(route, ids)), text);
    expect(await send('[]')).toMatchObject({
      status: 422,
      body: { detail: 'The body must be a JSON object' },
    });
    expect((await send('{"a"')).status).toBe(400);
  });
});

/** Objects within a body, by their paths, and which of them it has to have. */
function nestedIn(schema: Json, path: readonly string[] = []): { path: string[]; required: boolean }[] {
  return Object.entries<Json>(schema.properties).flatMap(([name, field]) => {
    const $ref: string | undefined = field.$ref ?? field.allOf?.[0]?.$ref ?? field.items?.$ref;
    if (!$ref) return [];
    const here = [...path, name];
    const required = (schema.required ?? []).includes(name);
    const deeper = field.items ? [] : nestedIn(schemas[$ref.split('/').at(-1) as string], here);
    return [{ path: here, required }, ...deeper];
  });
}

/** A body in which the value at a path is another one; undefined leaves it out. */
function bodyWith(body: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  return { ...body, [name]: rest.length > 0 ? bodyWith(body[name] ?? {}, rest, value) : value };
}

const openBodies = routes.flatMap(route => {
  const schema = bodySchemaOf(route);
  return schema && !takesExecToken(route) ? [{ ...route, schema }] : [];
});
const nested = openBodies.flatMap(route =>
  nestedIn(route.schema).map(({ path, required }) => ({ name: route.name, route, path, required })),
);

describe.each(nested)('$name', ({ route, path, required }) => {
  const refused = async (value: unknown) => {
    const body = bodyWith(sampleBody(route.schema, idsFor(route, ids)), path, value);
    const answer = await victim.client.json(route.method, addressOf(route, idsFor(route, ids)), body);
    return [answer.status, answer.body?.detail];
  };

  it(`takes nothing else for ${path.join('.')}`, async () => {
    const last = path.at(-1) as string;
    for (const value of ['x', 7, true, [7], ...(required ? [undefined, null] : [])])
      expect([value, ...(await refused(value))]).toEqual([value, 422, expect.stringContaining(last)]);
  });
});

const named = openBodies.flatMap(route =>
  ['name', 'title']
    .filter(field => field in route.schema.properties)
    .map(field => ({ name: route.name, route, field })),
);

describe.each(named)('$name', ({ route, field }) => {
  it(`takes a ${field} of one line alone`, async () => {
    const lines = ['Ada\r\nBcc: x@example.com', 'a\u0085b', 'a\u001bb', 'a\u2028b', 'a\u202eb'];
    for (const line of lines) {
      const body = { ...sampleBody(route.schema, idsFor(route, ids)), [field]: line };
      const answer = await victim.client.json(route.method, addressOf(route, idsFor(route, ids)), body);
      expect([line, answer.status, answer.body.detail]).toEqual([
        line,
        422,
        expect.stringContaining(`${field} must`),
      ]);
    }
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
