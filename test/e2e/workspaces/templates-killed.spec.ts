import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServiceProcess } from '../../faults/service-process.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const FOLDERS = 10;
const EACH = 40;
const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

/** The job of a killed worker is taken over when its lock has run out. */
const LONG = 600_000;

let service: TestService;
let ada: Person;

/** This process serves HTTP alone: who copies are workers of their own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(() => service.stop());

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const events = (operation: string, options: Json = {}) =>
  ada.client.events(`/api/operations/${operation}/events`, options);

function fill(workspace: string): void {
  writeFileSync(
    path.join(folderOf(workspace), 'template.yaml'),
    "parameters:\n  - { name: team, type: string }\nrender: ['**/*.md']\n",
  );
  for (let folder = 0; folder < FOLDERS; folder++) {
    mkdirSync(path.join(folderOf(workspace), `d${folder}`));
    for (let file = 0; file < EACH; file++)
      writeFileSync(
        path.join(folderOf(workspace), `d${folder}`, `f${file}.md`),
        `{{ params.team }}\n${'x'.repeat(20_000)}\n`,
      );
  }
}

/** Kills the worker in the middle of the operation, and lets another one end it. */
async function endedByAnother(operation: string): Promise<Json> {
  const first = await ServiceProcess.start(service, { ROLE: 'worker' });
  await events(operation, { until: ({ data }: Json) => data.status !== 'queued' });
  await first.kill();
  const second = await ServiceProcess.start(service, { ROLE: 'worker' });
  const last = (await events(operation)).at(-1);
  await second.stop();
  return last as Json;
}

it(
  'are published and cloned whole although each worker is killed in the middle',
  async () => {
    const workspace = await service.workspace(ada);
    fill(workspace);
    const published = await ada.client.post('/api/templates', { workspace_id: workspace });
    expect(published.status).toBe(200);
    expect(await endedByAnother(published.body.operation_id)).toMatchObject({ event: 'operation.completed' });
    const template = `/api/templates/${published.body.template_id}`;
    expect((await ada.client.get(template)).body).toMatchObject({
      latest: 1,
      versions: [{ number: 1, state: 'published', files: FOLDERS * EACH + 1, findings: [] }],
    });

    const made = await ada.client.post(`${template}/clone`, { name: 'Made', parameters: { team: 'Red' } });
    expect(made.status).toBe(200);
    expect(await endedByAnother(made.body.operation_id)).toMatchObject({ event: 'operation.completed' });
    const clone = folderOf(made.body.workspace_id);
    const names = readdirSync(clone, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
      .map(entry => path.join(entry.parentPath, entry.name));
    expect(names).toHaveLength(FOLDERS * EACH);
    for (const name of names) expect(readFileSync(name, 'utf8').slice(0, 6)).toBe('Red\nxx');
  },
  LONG,
);

it(
  'are blocked by what is found although the worker is killed in the middle',
  async () => {
    const workspace = await service.workspace(ada);
    fill(workspace);
    writeFileSync(path.join(folderOf(workspace), 'd9', 'last.txt'), `token = ${TOKEN}\n`);
    const published = await ada.client.post('/api/templates', {
      workspace_id: workspace,
      slug: 'with-a-secret',
    });
    expect([published.status, published.body.detail]).toEqual([200, undefined]);
    expect(await endedByAnother(published.body.operation_id)).toMatchObject({ event: 'operation.completed' });
    const { body } = await ada.client.get(`/api/templates/${published.body.template_id}`);
    expect(JSON.stringify(body)).not.toContain(TOKEN);
    expect(body).toMatchObject({
      latest: null,
      versions: [{ state: 'blocked', findings: [{ path: 'd9/last.txt', line: 1 }] }],
    });
  },
  LONG,
);
