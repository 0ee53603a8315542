import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Leases } from '../../../src/platform/leases/index.js';
import { gitIdentityOf } from '../../../src/workspaces/sandboxes/git-identity.js';
import type { Json } from '../../harness/client.js';
import { createParser } from '../../harness/event-stream.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  workspace = await service.workspace(ada);
});
afterAll(() => service.stop());

const list = async () => (await ada.client.get(`/api/workspaces/${workspace}/sandboxes`)).body.items;

/** The sandbox of a command, as it is listed. Others may be there for a moment after their end. */
async function running(command: string): Promise<Json> {
  for (;;) {
    const found = (await list()).find((item: Json) => item.command === command);
    if (found) return found;
    await sleep(50);
  }
}

/** Starts a command; resolves when it has begun to write, with a promise of its result. */
async function begin(command: string): Promise<{ finished: Promise<Json> }> {
  const response = await ada.client.raw('POST', `/api/workspaces/${workspace}/tools/bash`, {
    body: JSON.stringify({ input: { command } }),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  });
  const parser = createParser();
  const reader = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const next = async (name: string): Promise<Json> => {
    for (;;) {
      const { value, done } = await reader.next();
      if (done) throw new Error(`The stream ended without ${name}`);
      const found = parser(value).find(({ event }) => event === name);
      if (found) return found.data;
    }
  };
  await next('tool.output');
  return { finished: next('tool.finished') };
}

describe('git in a sandbox', () => {
  const commit = 'git commit --quiet --allow-empty -m x && git log -1 --format="%an <%ae>, %cn <%ce>"';
  const said = async (command: string) => {
    const { body } = await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
    return body.output;
  };

  it('commits as who calls, unless a repository or its user says otherwise', async () => {
    const { name, email } = (await ada.client.get('/api/auth/me')).body;
    const ours = `${name} <${email}>`;
    expect(await said(`mkdir repo; cd repo; git init --quiet; ${commit}`)).toBe(`${ours}, ${ours}`);
    const theirs = 'git config --global user.name Bo; git config --global user.email bo@example.org';
    const bo = 'Bo <bo@example.org>';
    expect(await said(`cd repo; ${theirs}; ${commit}`)).toBe(`${bo}, ${bo}`);
    expect(await said(`cd repo; git config user.name Cy; ${commit}`)).toBe(`Cy <${email}>, Cy <${email}>`);
    expect(await said(`cd repo; GIT_AUTHOR_NAME=Di ${commit}`)).toBe(`Di <${email}>, Cy <${email}>`);
  });

  it('commits as a service account, whose name may be anything', async () => {
    const { files } = gitIdentityOf({ name: 'a "b" \\ #c;\n[core]\n\tpager = x', email: null });
    const write = `printf %s ${JSON.stringify(Buffer.from(String(files.gitconfig)).toString('base64'))} | base64 -d > config`;
    const read = 'GIT_CONFIG_SYSTEM=config git config --system --includes --list';
    expect(await said(`${write}; ${read}; rm config`)).toBe(
      [
        'include.path=/etc/gitconfig',
        'user.name=a "b" \\ #c; [core] pager = x',
        'user.email=noreply@atelier.invalid',
      ].join('\n'),
    );
  });
});

describe('sandboxes', () => {
  it('are listed while they run, and can be ended', async () => {
    while ((await list()).length > 0) await sleep(50);
    const { finished } = await begin('echo begun; sleep 600');
    const item = await running('echo begun; sleep 600');
    expect(item).toEqual({
      id: expect.any(String),
      command: 'echo begun; sleep 600',
      caller: { kind: 'tool', id: ada.id },
      node: hostname(),
      started_at: expect.any(String),
      kind: 'command',
      name: null,
      memory_bytes: expect.any(Number),
      cpu_ms: expect.any(Number),
      processes: expect.any(Number),
    });
    const ended = await ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${item.id}`);
    expect([ended.status, ended.body]).toEqual([200, { id: item.id, deleted: true }]);
    expect(await finished).toMatchObject({ is_error: true, output: expect.stringContaining('Killed') });
    while ((await list()).length > 0) await sleep(50);
  });

  it('are ended by those who may run code there, and nobody else', async () => {
    const viewer = await service.person('Viewer');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'viewer' };
    await service.join(viewer, place);
    const { finished } = await begin('echo begun; sleep 601');
    const { id } = await running('echo begun; sleep 601');
    const address = `/api/workspaces/${workspace}/sandboxes/${id}`;
    expect((await viewer.client.delete(address)).status).toBe(403);
    const elsewhere = await service.workspace(ada);
    expect((await ada.client.delete(`/api/workspaces/${elsewhere}/sandboxes/${id}`)).status).toBe(404);
    expect((await ada.client.delete(address)).status).toBe(200);
    await finished;
  });

  it('of a process that died are not shown, and are forgotten', async () => {
    const [dead, alive] = [randomUUID(), randomUUID()];
    await service.database.query(`insert into process (id, seen_at) values ($1, now() + interval '1 hour')`, [
      alive,
    ]);
    await service.database.query(
      `insert into running_sandbox (id, workspace_id, process_id, node, command, caller_kind, started_at)
       values ($1, $3, $1, 'gone', 'sleep', 'service', now()), ($2, $3, $2, 'gone', 'sleep', 'service', now())`,
      [dead, alive, workspace],
    );
    const listed = (await list()).map((item: Json) => item.id);
    expect(listed).toContain(alive);
    expect(listed).not.toContain(dead);
    const end = (id: string) => ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${id}`);
    expect([(await end(dead)).status, (await end(alive)).status]).toEqual([404, 200]);
    const left = () => service.database.query('select id from running_sandbox where node = $1', ['gone']);
    while ((await left()).length > 1) await sleep(50);
    expect(await left()).toEqual([{ id: alive }]);
    await service.database.query('delete from running_sandbox where id = $1', [alive]);
  });

  it('of this process that it does not know are forgotten', async () => {
    const id = randomUUID();
    const { processId } = service.app.get(Leases, { strict: false });
    await service.database.query(
      `insert into running_sandbox (id, workspace_id, process_id, node, command, caller_kind, started_at)
       values ($1, $2, $3, 'unknown', 'sleep', 'service', now())`,
      [id, workspace, processId],
    );
    while ((await service.database.query('select 1 from running_sandbox where id = $1', [id])).length > 0)
      await sleep(50);
  });
});

describe('a named session', () => {
  const bash = async (session: string, command: string, person = ada) => {
    const answer = await person.client.post(`/api/workspaces/${workspace}/tools/bash`, {
      input: { command },
      session,
    });
    return answer.body;
  };

  it('goes on where its caller left it', async () => {
    const first = await bash('build', 'mkdir -p app; cd app; export MODE=test; sleep 600 & echo $!');
    expect(first).toMatchObject({ is_error: false, new_session: true });
    const second = await bash('build', `pwd; echo $MODE; kill -0 ${first.output} && echo runs`);
    expect(second).toMatchObject({ output: '/workspace/app\ntest\nruns', new_session: false });
    const shown = (await list()).find(({ name }: Json) => name === 'build');
    expect(shown).toMatchObject({ kind: 'session', name: 'build', caller: { kind: 'tool', id: ada.id } });
    await ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${shown.id}`);
  });

  it('is another one for each name and caller', async () => {
    const eve = await service.person('Eve');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'editor' };
    await service.join(eve, place);
    await bash('mine', 'cd /tmp; secret=1; echo > here');
    expect(await bash('mine', 'pwd; echo [$secret]; ls /tmp', eve)).toMatchObject({
      output: '/workspace\n[]\nhome',
      new_session: true,
    });
    expect((await bash('other', 'pwd')).output).toBe('/workspace');
    expect((await bash('mine', 'echo $secret')).output).toBe('1');
  });

  it('runs the commands of two callers at once one after the other', async () => {
    const results = await Promise.all(
      [1, 2, 3].map(() => bash('at-once', 'a=$((a + 1)); sleep 0.1; echo $a')),
    );
    expect(results.map(({ output }) => output).toSorted()).toEqual(['1', '2', '3']);
    expect(results.filter(({ new_session }) => new_session)).toHaveLength(1);
  });

  it('that was ended begins anew with the next command', async () => {
    await bash('ended', 'x=1');
    const shown = (await list()).find(({ name }: Json) => name === 'ended');
    await ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${shown.id}`);
    await gone('ended');
    expect(await bash('ended', 'echo [$x]')).toMatchObject({
      output: expect.stringContaining('[]'),
      new_session: true,
    });
  });

  it('has commands in the background, which are read and ended by their ids there, and nowhere else', async () => {
    const use = async (tool: string, input: Json, session: string | undefined, person = ada) =>
      (await person.client.post(`/api/workspaces/${workspace}/tools/${tool}`, { input, session })).body;
    const command = 'cd /tmp; echo up; while :; do sleep 1; done';
    const begun = await use('bash', { command, run_in_background: true }, 'behind');
    expect(begun).toMatchObject({
      is_error: false,
      exit_code: 0,
      command_id: 'c1',
      working_directory: '/workspace',
    });
    await use(
      'bash',
      { command: 'until [ -s .atelier/output/*/bash-c1.txt ]; do sleep 0.02; done' },
      'behind',
    );
    expect(await use('bash_output', { id: 'c1' }, 'behind')).toMatchObject({
      output: expect.stringMatching(/^up\nc1 is running/),
      command_id: 'c1',
      exit_code: null,
    });
    expect((await use('bash_output', { id: 'c1' }, 'elsewhere')).output).toContain(
      'No command c1 was started here',
    );
    expect((await use('bash_output', { id: 'c1' }, undefined)).output).toContain('name it');
    expect((await use('bash', { command, run_in_background: true }, undefined)).output).toContain(
      'takes a session',
    );
    expect((await use('bash_kill', { id: 'c1' }, 'behind')).output).toBe('(no new output)\nc1 was killed.');
    const again = await use('bash', { command: 'sleep 600', run_in_background: true }, 'behind');
    const shown = (await list()).find(({ name }: Json) => name === 'behind');
    await ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${shown.id}`);
    await gone('behind');
    expect((await use('bash_output', { id: again.command_id }, 'behind')).output).toMatch(
      /c2 ended with its sandbox|No command c2 was started here/,
    );
  });

  it('is refused to other tools, under other names, and in great numbers', async () => {
    const read = { input: { path: 'x' }, session: 'build' };
    expect((await ada.client.post(`/api/workspaces/${workspace}/tools/read_file`, read)).status).toBe(422);
    const named = { input: { command: 'true' }, session: '../x y' };
    expect((await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, named)).status).toBe(422);
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, number) =>
        ada.client.post(`/api/workspaces/${workspace}/tools/bash`, {
          input: { command: 'sleep 0.1' },
          session: `many-${number}`,
        }),
      ),
    );
    expect(many.filter(({ status }) => status === 409).length).toBeGreaterThanOrEqual(4);
    expect(many.find(({ status }) => status === 409)?.body.detail).toMatch(/end one first/);
  });

  /** Resolves when a session is not listed any more. */
  async function gone(name: string): Promise<void> {
    while ((await list()).some((item: Json) => item.name === name)) await sleep(50);
  }
});
