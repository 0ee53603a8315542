/** Servers as their editors have them: made, changed, started, stopped and deleted, by those who may. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;
let serial = 0;

beforeAll(async () => {
  service = await TestService.start({
    SERVER_LIMITS: 'process=0,organization=3',
    WORKSPACE_LIMITS: 'servers=20',
  });
  ada = await service.person('Ada');
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  viewer = await service.person('Vera');
  const in_ = {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  } as const;
  await service.join(viewer, in_);
  stranger = await service.person('Stranger');
});
afterAll(() => service.stop());

async function make(settings: Json = {}): Promise<Json> {
  const slug = `server-${++serial}`;
  const { status, body } = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: `Server ${serial}`,
    slug,
    command: 'sleep 1000',
    start: false,
    ...settings,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body;
}

describe('a server', () => {
  it('is made, read, listed, changed and deleted', async () => {
    const made = await make({ env: { MODE: { value: 'swordfish' } }, sleep_after_seconds: 60 });
    expect(made).toMatchObject({
      state: 'stopped',
      env: ['MODE'],
      restart: 'on_failure',
      host_header: 'public',
      instance: null,
      url: expect.stringContaining(`${made.slug}.servers.localhost`),
    });
    const changed = await ada.client.patch(`/api/tunnels/${made.id}`, {
      name: 'Renamed',
      slug: 'renamed',
      health_path: '/healthz',
      memory_bytes: 64 * 1024 * 1024,
      env: { MODE: null, OTHER: { value: 'x' } },
    });
    expect(changed.body).toMatchObject({ name: 'Renamed', slug: 'renamed', env: ['OTHER'] });
    expect((await viewer.client.get(`/api/tunnels/${made.id}`)).body).toEqual(changed.body);
    const all = await ada.client.get('/api/tunnels');
    const here = await ada.client.get(`/api/tunnels?workspace_id=${workspace}`);
    expect(all.body.items).toEqual(here.body.items);
    expect(here.body.items).toContainEqual(changed.body);
    expect((await ada.client.delete(`/api/tunnels/${made.id}`)).body).toMatchObject({ deleted: true });
    expect((await ada.client.get(`/api/tunnels/${made.id}`)).status).toBe(404);
  });

  it('shows its variables to nobody, in no answer, no record and no row', async () => {
    const { id } = await make({ env: { TOKEN: { value: 'swordfish' } } });
    const rows = await service.database.query('select * from server where id = $1', [id]);
    const audit = await ada.client.get(`/api/organizations/${ada.organizationId}/audit?limit=50`);
    const runs = await ada.client.post('/api/actions/server_update/run', {
      input: { id, env: { TOKEN: { value: 'swordfish' } } },
    });
    expect(runs.status).toBe(200);
    const ledger = await ada.client.get('/api/action-runs?limit=50');
    expect(JSON.stringify([rows, audit.body, runs.body, ledger.body])).not.toContain('swordfish');
  });

  it('is not there for strangers, and viewers look on', async () => {
    const { id } = await make();
    const writes = (person: Person) => [
      person.client.patch(`/api/tunnels/${id}`, { name: 'Mine' }),
      person.client.post(`/api/tunnels/${id}/start`, {}),
      person.client.post(`/api/tunnels/${id}/stop`, {}),
      person.client.post(`/api/tunnels/${id}/restart`, {}),
      person.client.delete(`/api/tunnels/${id}`),
    ];
    const statuses = async (answers: Promise<{ status: number }>[]) =>
      (await Promise.all(answers)).map(({ status }) => status);
    expect(await statuses(writes(stranger))).toEqual([404, 404, 404, 404, 404]);
    expect((await stranger.client.get(`/api/tunnels/${id}`)).status).toBe(404);
    expect(await statuses(writes(viewer))).toEqual([403, 403, 403, 403, 403]);
    const input = { workspace_id: workspace, name: 'X', command: 'x' };
    expect(
      await statuses([stranger, viewer].map(({ client }) => client.post('/api/tunnels', input))),
    ).toEqual([404, 403]);
  });

  it.each([
    [{ command: ' ' }, 'command must not be blank'],
    [{ slug: 'a--b' }, 'slug must be lower-case letters, digits and single hyphens between them'],
    [{ port: 80 }, 'port must be at least 1024'],
    [{ health_path: 'healthz' }, 'health_path must be a path such as /healthz'],
    [{ env: { PORT: { value: '1' } } }, 'env may not set PORT: the service sets it'],
    [{ env: { A: 'b' } }, 'env.A must be {"value": "…"}, or null to remove it'],
    [{ actions: ['file_raed'] }, 'There is no action file_raed; did you mean file_read?'],
    [{ memory_bytes: 2 ** 34 }, 'memory_bytes is 2147483648 at most on this installation'],
    [{ folder: '../up' }, expect.stringContaining('..')],
  ])('refuses %j and says what is wrong', async (settings, detail) => {
    const input = { workspace_id: workspace, name: 'X', command: 'x', start: false, ...settings };
    const { status, body } = await ada.client.post('/api/tunnels', input);
    expect([status, body.detail]).toEqual([422, detail]);
  });
});

describe('starting and stopping', () => {
  const move = (id: string, how: string) => ada.client.post(`/api/tunnels/${id}/${how}`, {});

  it('says what is wanted, and nothing is restarted that does not run', async () => {
    const { id } = await make();
    expect(await move(id, 'restart')).toMatchObject({
      status: 409,
      body: { detail: 'The server is stopped, and there is nothing to restart; start it' },
    });
    expect((await move(id, 'start')).body).toMatchObject({ state: 'starting', reason: null });
    expect((await move(id, 'stop')).body).toMatchObject({
      state: 'stopped',
      reason: 'It was stopped by hand.',
    });
  });

  it('holds to as many of an organization as may run, also with all started at once', async () => {
    const servers = await Promise.all(Array.from({ length: 5 }, () => make()));
    const answers = await Promise.all(servers.map(({ id }) => move(id, 'start')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.detail).toBe(
      '3 servers of the organization run, as many as may; stop one of them first',
    );
    await Promise.all(servers.map(({ id }) => ada.client.delete(`/api/tunnels/${id}`)));
  });

  it('is given nobody else’s slug', async () => {
    const { slug } = await make();
    const input = { workspace_id: workspace, name: 'X', command: 'x', slug };
    expect((await ada.client.post('/api/tunnels', input)).status).toBe(409);
  });
});
