import { randomBytes } from 'node:crypto';
import { closeSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let viewer: Person;
let stranger: Person;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  stranger = await service.person('Stranger');
  viewer = await service.person('Viewer');
  await service.join(viewer, { organization: ada.organizationId, role: 'member' });
});
afterAll(() => service.stop());

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;
const MANIFEST = `
name: Team notes
description: Notes of one team
parameters:
  - { name: team, label: Team, type: string }
  - { name: tone, type: choice, choices: [plain, warm], default: plain }
render: ['*.md']
exclude: ['private/**']
connections: [github]
egress: [api.example.com]
next_steps: [Read README.md]
`;
const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const write = async (workspace: string, files: Record<string, string>) => {
  for (const [name, content] of Object.entries(files)) {
    const sent = await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: name, content });
    expect(sent.status).toBe(200);
  }
};
const read = async (person: Person, workspace: string, name: string) =>
  (await person.client.raw('GET', `/api/workspaces/${workspace}/files/download?path=${name}`)).text();
const toItsEnd = async (person: Person, operation: string) =>
  (await person.client.events(`/api/operations/${operation}/events`)).at(-1) as Json;

async function publish(workspace_id: string, fields: Json = {}) {
  const { status, body } = await ada.client.post('/api/templates', { workspace_id, ...fields });
  expect([status, body.detail]).toEqual([200, undefined]);
  const end = await toItsEnd(ada, body.operation_id);
  const template = await ada.client.get(`/api/templates/${body.template_id}`);
  return { id: body.template_id as string, end, template: template.body };
}

async function clone(person: Person, id: string, fields: Json = {}) {
  const made = await person.client.post(`/api/templates/${id}/clone`, { name: 'Made', ...fields });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
  return { ...made.body, end: await toItsEnd(person, made.body.operation_id) };
}

describe('a template', () => {
  let workspace: string;
  let id: string;

  it('has nothing that people handed in by forms', async () => {
    const from = await service.workspace(ada);
    await write(from, {
      'forms/poll.form': 'title: Poll\nfields: []\n',
      'forms/poll.files/1/cv.txt': 'x',
      'other.files/a.txt': 'x',
      'forms/poll.csv': 'submission_id,submitted_at,name\n1,t,Ada\n',
      'answers.CSV': '\uFEFFname;"submission_id"\r\nAda;1\r\n',
      'cities.csv': 'city,population\nBerlin,3700000\nsubmission_id,1\n',
    });
    const { template } = await publish(from, { slug: 'poll' });
    const [version] = template.versions;
    expect(version.skipped.toSorted()).toEqual(['answers.CSV', 'forms/poll.csv', 'forms/poll.files']);
    const { body } = await ada.client.get(`/api/templates/${template.id}/versions/1/files`);
    expect(body.items.map(({ path: at }: Json) => at).toSorted()).toEqual(
      expect.arrayContaining(['cities.csv', 'forms/poll.form', 'other.files/a.txt']),
    );
    expect(JSON.stringify(body.items)).not.toMatch(/poll\.csv|answers|cv\.txt/);
  });

  it('is published, listed, and a workspace is made of it, disarmed', async () => {
    workspace = await service.workspace(ada);
    const markdown = '# {{ params.team }}\n\n{{params.tone}} {{ params.other }}\n';
    await write(workspace, {
      'template.yaml': MANIFEST,
      'README.md': markdown,
      'app.txt': markdown,
      'private/notes.md': 'x',
      '.env': `TOKEN=${TOKEN}`,
      'keys/one.pem': 'x',
      'drafts/a.txt': 'x',
      '.atelierignore': 'drafts/\n',
    });
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'link'));
    const made = await publish(workspace, { slug: 'team-notes' });
    id = made.id;
    expect(made.template).toMatchObject({
      slug: 'team-notes',
      name: 'Team notes',
      description: 'Notes of one team',
      visibility: 'org',
      latest: 1,
      versions: [{ number: 1, state: 'published', files: 4, findings: [], skipped: ['link'] }],
    });
    expect((await viewer.client.get('/api/templates?q=TEAM')).body.items).toMatchObject([{ id, latest: 1 }]);
    expect((await viewer.client.get('/api/templates?q=%25')).body.items).toEqual([]);

    const copy = await clone(viewer, id, {
      parameters: { team: '{{ params.tone }} $& <b>' },
      organization_id: ada.organizationId,
    });
    expect(copy.next_steps).toEqual([
      'Read README.md',
      'Connect github',
      'Allow sandboxes to connect to api.example.com',
    ]);
    expect(copy.skipped).toContain('secrets and connections');
    expect(copy.end).toMatchObject({
      event: 'operation.completed',
      data: { result: { workspace_id: copy.workspace_id } },
    });
    expect(copy.end.data.skipped).toEqual([...copy.skipped, 'link']);
    expect(await read(viewer, copy.workspace_id, 'README.md')).toBe(
      '# {{ params.tone }} $& <b>\n\nplain {{ params.other }}\n',
    );
    expect(await read(viewer, copy.workspace_id, 'app.txt')).toBe(markdown);
    const { body } = await viewer.client.get(`/api/workspaces/${copy.workspace_id}/files?recursive=true`);
    const paths = body.items.map((item: Json) => item.path);
    expect(paths).toEqual(['.atelierignore', 'README.md', 'app.txt', 'template.yaml']);
    expect(await ada.client.get(`/api/workspaces/${copy.workspace_id}`)).toMatchObject({ status: 404 });
  });

  it('has versions that never change', async () => {
    await write(workspace, { 'app.txt': 'second' });
    expect((await publish(workspace)).template).toMatchObject({ id, latest: 2 });
    const parameters = { team: 'Red' };
    const [first, newest] = await Promise.all([
      clone(ada, id, { version: 1, parameters }),
      clone(ada, id, { parameters }),
    ]);
    expect(await read(ada, first.workspace_id, 'app.txt')).toContain('params.team');
    expect(await read(ada, newest.workspace_id, 'app.txt')).toBe('second');
  });

  it('lists the files of a version, in pages', async () => {
    const files = (query: string, person = viewer) =>
      person.client.get(`/api/templates/${id}/versions/1/files${query}`);
    const { body } = await files('?limit=3');
    expect(body.items.map(({ path: name }: Json) => name)).toEqual([
      '.atelierignore',
      'README.md',
      'app.txt',
    ]);
    const rest = await files(`?limit=3&cursor=${body.next_cursor}`);
    expect(rest.body).toMatchObject({
      items: [{ path: 'template.yaml', size: MANIFEST.length }],
      next_cursor: null,
    });
    expect((await files('', stranger)).status).toBe(404);
    expect((await viewer.client.get(`/api/templates/${id}/versions/9/files`)).status).toBe(404);
  });

  it('is what POST /api/workspaces makes a workspace of, which says later that there is a newer one', async () => {
    const made = await viewer.client.post('/api/workspaces', {
      name: 'Blue',
      template_id: id,
      version: 1,
      parameters: { team: 'Blue' },
      organization_id: ada.organizationId,
    });
    expect(made).toMatchObject({
      status: 200,
      body: { name: 'Blue', visibility: 'private', next_steps: expect.arrayContaining(['Connect github']) },
    });
    await toItsEnd(viewer, made.body.operation_id);
    const address = `/api/workspaces/${made.body.id}`;
    expect(await read(viewer, made.body.id, 'README.md')).toContain('# Blue');
    // It is as visible as it was asked to be once it is complete.
    expect((await ada.client.get(address)).body).toMatchObject({ visibility: 'org' });
    expect((await ada.client.get(`${address}/template`)).body).toEqual({
      template_id: id,
      name: 'Team notes',
      version: 1,
      latest: 2,
      has_newer: true,
    });
    expect((await stranger.client.get(`${address}/template`)).status).toBe(404);
    expect((await ada.client.get(`/api/workspaces/${workspace}/template`)).body).toMatchObject({
      template_id: null,
      has_newer: false,
    });
    const wrong = async (fields: Json) =>
      (await viewer.client.post('/api/workspaces', { name: 'Red', ...fields })).status;
    expect(await wrong({ template_id: id })).toBe(422);
    expect(await wrong({ template_id: workspace })).toBe(404);
    expect(await wrong({ parameters: {} })).toBe(422);
  });

  it('is renamed, and shown to others, by its admins alone', async () => {
    const change = (person: Person, fields: Json) => person.client.patch(`/api/templates/${id}`, fields);
    expect((await change(viewer, { visibility: 'installation' })).status).toBe(403);
    expect((await change(stranger, { visibility: 'installation' })).status).toBe(404);
    expect((await change(ada, { name: ' ' })).status).toBe(422);
    expect((await change(ada, { name: 'Notes', visibility: 'workspace_admins' })).body).toMatchObject({
      name: 'Notes',
      visibility: 'workspace_admins',
    });
    expect((await viewer.client.get(`/api/templates/${id}`)).status).toBe(404);
    expect((await change(ada, { visibility: 'org', description: '' })).status).toBe(200);
    expect((await viewer.client.get(`/api/templates/${id}`)).body).toMatchObject({ description: '' });
    const { body } = await ada.client.get(
      `/api/organizations/${ada.organizationId}/audit?action=template.update`,
    );
    expect(body.items).toHaveLength(2);
  });

  it('is nothing to strangers, and nobody but admins of its workspace publishes it', async () => {
    expect((await stranger.client.get('/api/templates?q=notes')).body.items).toEqual([]);
    const answers = [
      await stranger.client.get(`/api/templates/${id}`),
      await stranger.client.post(`/api/templates/${id}/clone`, { name: 'Taken', parameters: { team: 'x' } }),
      await stranger.client.delete(`/api/templates/${id}`),
      await stranger.client.post('/api/templates', { workspace_id: workspace }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect((await viewer.client.post('/api/templates', { workspace_id: workspace })).status).toBe(403);
    expect((await viewer.client.delete(`/api/templates/${id}`)).status).toBe(403);
    const other = await service.workspace(ada);
    const taken = await ada.client.post('/api/templates', { workspace_id: other, slug: 'team-notes' });
    expect(taken.status).toBe(409);
  });

  it('says which parameter is wrong', async () => {
    const tried = async (parameters: Json) => {
      const { status, body } = await ada.client.post(`/api/templates/${id}/clone`, {
        name: 'Made',
        parameters,
      });
      return [status, body.detail];
    };
    expect(await tried({})).toEqual([422, 'The parameter team is needed']);
    expect(await tried({ team: 'a', tone: 'loud' })).toEqual([
      422,
      'The parameter tone must be one of plain, warm',
    ]);
    expect(await tried({ team: 'a', size: 'x' })).toEqual([
      422,
      'The template has no parameter size; it has team, tone',
    ]);
  });

  it('is open to all where its visibility says so, until it is deleted', async () => {
    await publish(workspace, { visibility: 'installation' });
    const copy = await clone(stranger, id, { parameters: { team: 'Theirs' } });
    expect(await read(stranger, copy.workspace_id, 'README.md')).toContain('# Theirs');
    expect((await stranger.client.delete(`/api/templates/${id}`)).status).toBe(404);
    expect((await ada.client.delete(`/api/templates/${id}`)).status).toBe(200);
    expect((await stranger.client.get(`/api/templates/${id}`)).status).toBe(404);
    expect(await read(stranger, copy.workspace_id, 'README.md')).toContain('# Theirs');
  });
});

describe('secrets', () => {
  it('block a version until each is acknowledged, and are never shown', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, { 'src/app.ts': `// one\nconst key = '${TOKEN}';\n` });
    writeFileSync(path.join(folderOf(workspace), 'wide.txt'), `\ufeffline\n${TOKEN}\n`, 'utf16le');
    const blocked = await publish(workspace);
    const [version] = blocked.template.versions;
    expect(blocked.end.data.result).toEqual({ workspace_id: workspace, outcome: 'blocked' });
    expect(version).toMatchObject({
      state: 'blocked',
      findings: [
        { path: 'src/app.ts', line: 2, rule: 'github-token' },
        { path: 'wide.txt', line: 2, rule: 'github-token' },
      ],
    });
    expect(JSON.stringify(blocked)).not.toContain('a1B2');
    expect((await viewer.client.get(`/api/templates/${blocked.id}`)).status).toBe(404);
    const nothing = await ada.client.post(`/api/templates/${blocked.id}/clone`, { name: 'Made' });
    expect(nothing.status).toBe(409);
    const [one, two] = version.findings.map(({ fingerprint }: Json) => fingerprint);
    const half = await publish(workspace, { acknowledge: [one] });
    expect(half.template.latest).toBeNull();
    const whole = await publish(workspace, { acknowledge: [one, two] });
    expect(whole.template.latest).toBe(3);
    expect((await viewer.client.get(`/api/templates/${blocked.id}`)).body.versions).toMatchObject([
      { number: 3, findings: [] },
    ]);
  });

  it('are found at the end of 300 MB', async () => {
    const workspace = await service.workspace(ada);
    const large = path.join(folderOf(workspace), 'large.bin');
    const file = openSync(large, 'w');
    writeSync(file, randomBytes(1024));
    truncateSync(large, 300_000_000);
    writeSync(file, `\n${TOKEN}\n`, 300_000_000);
    closeSync(file);
    const { template } = await publish(workspace, { slug: 'large' });
    expect(template.versions).toMatchObject([{ state: 'blocked', findings: [{ path: 'large.bin' }] }]);
  });
});

it('who publishes is notified of what became of it', async () => {
  const notices = async () => {
    const { body } = await ada.client.get('/api/notifications?limit=100');
    return new Set(
      body.items.map(({ type }: Json) => type).filter((type: string) => type.startsWith('template.')),
    );
  };
  const all = ['template.blocked', 'template.failed', 'template.published'];
  const workspace = await service.workspace(ada);
  await write(workspace, { 'template.yaml': 'render: 3\n' });
  await publish(workspace, { slug: 'told' });
  // Notifications come by a job.
  while ((await notices()).size < all.length) await sleep(50);
  expect([...(await notices())].sort()).toEqual(all);
});

it('more patterns than are read are refused', async () => {
  const workspace = await service.workspace(ada);
  await write(workspace, { '.atelierignore': 'x\n'.repeat(101) });
  const { end } = await publish(workspace, { slug: 'many' });
  expect(end.data).toMatchObject({
    status: 'error',
    error: '.atelierignore has 101 patterns; at most 100 are read',
  });
});

it('a mistake in template.yaml ends the operation with what is wrong, and leaves nothing', async () => {
  const workspace = await service.workspace(ada);
  await write(workspace, { 'template.yaml': 'parameters:\n  - { name: Team }\n' });
  const { id, end } = await publish(workspace, { slug: 'wrong' });
  expect(end.data).toMatchObject({
    status: 'error',
    error: expect.stringContaining('template.yaml: parameters[0].name must be lower-case'),
  });
  expect((await ada.client.get(`/api/templates/${id}`)).status).toBe(404);
});
