import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
async function call(client: Client, route: Route, extra?: Json): Promise<{ status: number; body: Json }> {
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
  if (response.status < 400) return { status: response.status, body: undefined };
  const answer = JSON.parse(text);
  expect(answer).toEqual({ detail: expect.stringMatching(/^\S.*\S$/s) });
  return { status: response.status, body: answer };
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
