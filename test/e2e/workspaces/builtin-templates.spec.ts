import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
const ids = new Map<string, string>();

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  const { body } = await ada.client.get('/api/templates');
  for (const { id, slug } of body.items) ids.set(slug, id);
});
afterAll(() => service.stop());

async function clone(slug: string, parameters: Json = {}): Promise<string> {
  const made = await ada.client.post('/api/workspaces', {
    name: slug,
    template_id: ids.get(slug),
    parameters,
  });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
  const events = await ada.client.events(`/api/operations/${made.body.operation_id}/events`);
  expect(events.at(-1)).toMatchObject({ event: 'operation.completed' });
  return made.body.id;
}

async function bash(workspace: string, command: string): Promise<string> {
  const { body } = await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
  return JSON.stringify(body);
}

it('are there from the beginning, and stay as they are', async () => {
  expect([...ids.keys()].sort()).toEqual([
    'data-analysis',
    'documentation-site',
    'form-dashboard',
    'support-inbox',
    'web-app',
    'weekly-report',
  ]);
  const id = ids.get('web-app');
  const { body } = await ada.client.get(`/api/templates/${id}`);
  expect(body).toMatchObject({
    organization_id: null,
    name: 'Web app with server',
    visibility: 'installation',
    latest: 1,
    versions: [{ number: 1, published_by: null, findings: [] }],
  });
  expect((await ada.client.delete(`/api/templates/${id}`)).status).toBe(403);
  expect((await ada.client.patch(`/api/templates/${id}`, { name: 'Mine' })).status).toBe(403);
});

it('data analysis: the scripts profile and summarize its data', async () => {
  const workspace = await clone('data-analysis', { topic: 'Furniture' });
  const profile = await bash(workspace, 'cat README.md; node scripts/profile.mjs data/orders.csv');
  expect(profile).toContain('# Furniture');
  expect(profile).toContain('15 rows, 5 columns');
  expect(profile).toContain('region: text, 4 distinct, 1 missing');
  expect(profile).toContain('amount: number, 14 distinct, 1 missing, 299 to 2394');
  const summary = await bash(workspace, 'node scripts/summarize.mjs data/orders.csv product amount');
  for (const row of [
    'Chair,5,3612.00,722.40,774.00',
    'Desk,4,6384.00,1596.00,1596.00',
    'Lamp,5,2451.80,490.36,448.50',
  ])
    expect(summary).toContain(row);
  expect(summary).toContain('1 rows without a number');
});

it('web app: its tests pass, and it runs as a server', async () => {
  const workspace = await clone('web-app');
  const tests = await bash(workspace, 'node --test');
  expect(tests).toContain('pass 2');
  const made = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: 'Tasks',
    slug: 'tasks',
    command: 'node server.mjs',
  });
  const started = await ada.client.post(`/api/tunnels/${made.body.id}/start`, { wait: 60 });
  expect([started.status, started.body.state]).toEqual([200, 'running']);
});

it('form with dashboard: the form has no mistake, and the dashboard shows what is in its file', async () => {
  const workspace = await clone('form-dashboard', { event: 'the picnic' });
  const shared = await ada.client.post(`/api/workspaces/${workspace}/forms/share`, {
    path: 'forms/feedback.form',
  });
  expect([shared.status, shared.body.detail]).toEqual([200, undefined]);
  const rows = 'id,submitted_at,rating,topics,comment\n1,x,5,Talks; People,"A <b>, please"\n2,x,4,Talks,\n';
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: 'forms/feedback.csv',
    content: rows,
  });
  const shown = await bash(
    workspace,
    'PORT=8123 node dashboard/server.mjs & until curl -sf http://127.0.0.1:8123/; do sleep 0.1; done; kill %1',
  );
  expect(shown).toContain('2 responses, mean rating 4.5');
  expect(shown).toContain('Talks</th><td><span style=\\"width:100%\\"></span>2');
  expect(shown).toContain('A &#60;b&#62;, please');
});

it('weekly report: its automation is deployed without a mistake, and writes a report', async () => {
  const own = new Automations(
    ada.client,
    await clone('weekly-report', { team: 'Ops', timezone: 'Europe/Berlin' }),
  );
  const deployed = await own.deploy('automations/weekly-report.md');
  expect(deployed).toMatchObject({ state: 'live', findings: [], drift: 'none' });
  expect(deployed.triggers[0]).toMatchObject({ kind: 'schedule', config: { timezone: 'Europe/Berlin' } });
  const run = await own.run('automations/weekly-report.md');
  expect(run).toMatchObject({ status: 'completed', output: { projects: 3 } });
  expect(await own.fileText(run.output.report)).toContain('| Website | 13.5 |');
});

it('support inbox: what people hand in becomes tickets, each once', async () => {
  const workspace = await clone('support-inbox', { product: 'the shop' });
  const own = new Automations(ada.client, workspace);
  const shared = await ada.client.post(`/api/workspaces/${workspace}/forms/share`, {
    path: 'forms/support.form',
  });
  expect([shared.status, shared.body.detail]).toEqual([200, undefined]);
  expect(await own.deploy('automations/tickets.md')).toMatchObject({ state: 'live', findings: [] });
  await own.write(
    'forms/support.csv',
    'id,submitted_at,email,urgency,question\n1,x,ann@example.com,Whenever,"Two\nlines, ""quoted"""\n2,x,bob@example.com,Now,Help\n',
  );
  const run = await own.run('automations/tickets.md');
  expect(run).toMatchObject({ status: 'completed', output: { tickets: 2 } });
  expect(await own.fileText('tickets/1.md')).toBe(
    '# Whenever: ann@example.com\n\n> Two\n> lines, "quoted"\n',
  );
  expect(await own.fileText('tickets/README.md')).toMatch(/Now.*bob.*\n.*Whenever.*ann/);
  expect((await own.run('automations/tickets.md')).output).toEqual({ tickets: 2, made: 0 });
});
