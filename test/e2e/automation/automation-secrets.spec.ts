import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Automations } from '../../harness/automations.js';
import type { Client, Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const SECRET = 'sk-live "4711"\nsecond/line';

let service: TestService;
let ada: Person;
let viewer: Person;
let workspace: string;
let automations: Automations;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  workspace = await service.workspace(ada);
  viewer = await service.person();
  const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'viewer' };
  await service.join(viewer, place);
  automations = new Automations(ada.client, workspace);
});
afterAll(() => service.stop());

const path = (name = '', id = workspace) => `/api/workspaces/${id}/secrets${name && `/${name}`}`;
const set = (name: string, value: unknown = SECRET, client: Client = ada.client) =>
  client.put(path(name), { value });
const deployed = async (name: string, code: string, matter: string): Promise<Json> => {
  const file = await automations.script(name, code, matter);
  return { file, ...(await automations.deploy(file)) };
};

it('is set, listed by name, replaced and deleted, by those who may', async () => {
  const { status, body } = await set('FIRST');
  expect([status, body]).toEqual([
    200,
    { name: 'FIRST', created_at: expect.any(String), updated_at: expect.any(String) },
  ]);
  expect((await set('FIRST', 'another')).body.created_at).toBe(body.created_at);
  await set('SECOND');
  const listed = await viewer.client.get(path());
  expect(listed.body.items.map(({ name }: Json) => name)).toEqual(['FIRST', 'SECOND']);
  expect(JSON.stringify(listed.body)).not.toMatch(/another|4711/);
  const [first] = (await ada.client.get(`${path()}?limit=1`)).body.items;
  expect(first.name).toBe('FIRST');

  expect((await set('FIRST', 'another', viewer.client)).status).toBe(403);
  expect((await viewer.client.delete(path('FIRST'))).status).toBe(403);
  const eve = await service.person('Eve');
  expect((await set('FIRST', 'another', eve.client)).status).toBe(404);
  expect((await eve.client.get(path())).status).toBe(404);
  expect((await eve.client.delete(path('FIRST'))).status).toBe(404);

  for (const [name, value] of [
    ['lower', 'value'],
    ['PATH', 'value'],
    ['HTTPS_PROXY', 'value'],
    ['ATELIER_OUTPUT', 'value'],
    ['SHORT', 'abc'],
    ['EMPTY', ''],
    ['NUL', 'nul\0nul'],
    ['NUMBER', 1],
    ['SPACES', '   a   '],
    ['LONG', 'x'.repeat(65_536)],
    ['WIDE', '\u{1f511}'.repeat(16_000)],
  ])
    expect([name, (await set(String(name), value)).status]).toEqual([name, 422]);

  expect((await ada.client.delete(path('FIRST'))).body).toEqual({ name: 'FIRST', deleted: true });
  expect((await ada.client.delete(path('FIRST'))).status).toBe(404);
  const events = await service.database.query<{ details: Json }>(
    "select details from audit_entry where action = 'workspace.secret.set' and workspace_id = $1 order by id",
    [workspace],
  );
  expect(events.map(({ details }) => details)).toEqual([
    { name: 'FIRST' },
    { name: 'FIRST' },
    { name: 'SECOND' },
  ]);
});

it('is refused to a key of another workspace', async () => {
  await set('LIMITED');
  const other = await service.workspace(ada);
  const key = await service.key(ada, { workspace_ids: [other] });
  expect((await key.put(path('OTHER', other), { value: SECRET })).status).toBe(200);
  expect((await key.get(path())).status).toBe(404);
  expect((await set('LIMITED', 'another', key)).status).toBe(404);
  expect((await key.delete(path('LIMITED'))).status).toBe(404);
});

it('is one of those that are set at once', async () => {
  const values = Array.from({ length: 8 }, (_, n) => `value-${n}`);
  const answers = await Promise.all(values.map(value => set('CONTENDED', value)));
  expect(answers.map(({ status }) => status)).toEqual(values.map(() => 200));
  const { file } = await deployed(
    'contended',
    'printf %s "$CONTENDED" > contended.txt',
    'secrets: [CONTENDED]',
  );
  await automations.run(file);
  expect(values).toContain(await automations.fileText('contended.txt'));
});

it('of the most bytes reaches its script whole', async () => {
  const value = 'line\n'.repeat(6553);
  expect((await set('LARGEST', value)).status).toBe(200);
  const { file } = await deployed(
    'largest',
    'printf %s "$LARGEST" | tee largest.txt; echo end',
    'secrets: [LARGEST]',
  );
  expect((await automations.run(file)).log).not.toContain('line');
  expect(await automations.fileText('largest.txt')).toBe(value);
});

it('is in the environment of the script that names it, and withheld in all that is kept of the run', async () => {
  await set('TOKEN');
  await set('OTHER', 'other-value');
  const code = `
    printf '%s' "$TOKEN" > copy.txt; echo "[\${OTHER-none}]"
    printf 'said sk-live '; sleep 0.2; printf '"4711"\\nsecond/line, '; printf '%s' "$TOKEN" | base64 -w 0
    printf '%s' "$TOKEN" | jq -Rs '{token: .}' > "$ATELIER_OUTPUT"; exit 3`;
  const { file, id } = await deployed('uses', code, 'secrets: [TOKEN]');
  const run = await automations.run(file);
  expect(await automations.fileText('copy.txt')).toBe(SECRET);
  expect(run).toMatchObject({ stop_reason: 'script_failed', exit_code: 3, output: { token: '***' } });
  expect(run.log).toBe('[none]\nsaid ***, ***');
  const kept = await service.database.query<{ all: string }>(
    `select (select string_agg(text, '' order by number) from automation_output where run_id = $1)
       || (select to_jsonb(r)::text from automation_run r where id = $1)
       || (select string_agg(to_jsonb(e)::text, '') from automation_event e where workspace_id = $2) as all`,
    [run.run_id ?? run.id, workspace],
  );
  expect(kept[0]?.all).toContain('said ***');
  expect(kept[0]?.all).not.toMatch(/4711|second|c2stbGl2/);
  const stored = await service.database.query('select * from workspace_secret');
  expect(JSON.stringify(stored)).not.toContain('4711');
  await automations.stop(file);
  expect(id).toEqual(expect.any(String));
});

it('that is missing is warned of, and ends a run before its script begins', async () => {
  const { file, findings } = await deployed('missing', 'touch begun.txt', 'secrets: [TOKEN, TOKNE]');
  expect(findings).toEqual([
    expect.objectContaining({
      severity: 'warning',
      message: 'secrets: this workspace has no secret TOKNE; runs fail until it is set',
      suggestion: 'Did you mean "TOKEN"?',
    }),
  ]);
  const run = await automations.run(file);
  expect(run).toMatchObject({ status: 'error', stop_reason: 'secret_missing' });
  expect(run.error).toContain('no secret TOKNE;');
  expect(await automations.fileText('begun.txt')).toBe('status 404');
  await set('TOKNE');
  expect(await automations.run(file)).toMatchObject({ status: 'completed' });
});

it('is of scripts alone, by names that can be variables', async () => {
  const errors = async (content: string): Promise<string[]> =>
    (await automations.ask('validate', { file_path: 'automations/x.md', content })).body.findings.map(
      ({ message }: Json) => message,
    );
  expect(await errors('---\nsecrets: [TOKEN]\n---\nTidy up.\n')).toEqual([
    expect.stringContaining('is of scripts'),
  ]);
  expect(await errors('---\nrun: bash\nsecrets: [token, LD_PRELOAD]\n---\ntrue\n')).toEqual([
    expect.stringContaining('"token" is no name of a secret'),
    expect.stringContaining('LD_PRELOAD: the sandbox sets that variable'),
  ]);
});

it('goes with its workspace, and is in no other', async () => {
  const other = await service.workspace(ada);
  expect((await ada.client.put(path('TOKEN', other), { value: 'other-value' })).status).toBe(200);
  await ada.client.delete(`/api/workspaces/${other}`);
  const left = () =>
    service.database.query('select 1 from workspace_secret where workspace_id = $1', [other]);
  while ((await left()).length > 0) await new Promise(resolve => setTimeout(resolve, 50));
  expect((await ada.client.get(path())).body.items.map(({ name }: Json) => name)).toContain('TOKEN');
});
