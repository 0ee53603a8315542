import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { createParser } from '../../harness/event-stream.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let viewer: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  viewer = await service.person('Viewer');
  workspace = await service.workspace(ada);
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
});
afterAll(() => service.stop());

const run = (tool: string, input: unknown, person = ada) =>
  person.client.post(`/api/workspaces/${workspace}/tools/${tool}`, { input });
const startStream = (command: string, signal?: AbortSignal) =>
  ada.client.raw('POST', `/api/workspaces/${workspace}/tools/bash`, {
    body: JSON.stringify({ input: { command } }),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    signal,
  });
const placeOf = (name: string) => path.join(service.dataDir, 'workspaces', workspace, name);

describe('the list of tools', () => {
  it('says what each does and takes', async () => {
    const { status, body } = await ada.client.get(`/api/workspaces/${workspace}/tools`);
    expect(status).toBe(200);
    expect(body.items.map((tool: Json) => [tool.name, tool.effect, tool.available, tool.reason])).toEqual([
      ['bash', 'write', true, null],
      ['bash_output', 'read', true, null],
      ['bash_kill', 'write', true, null],
      ['web_fetch', 'read', true, null],
      ['multi_edit', 'write', true, null],
      ['edit_file', 'write', true, null],
      ['list_files', 'read', true, null],
      ['apply_patch', 'write', true, null],
      ['read_file', 'read', true, null],
      ['find_files', 'read', true, null],
      ['write_file', 'write', true, null],

      ['search_files', 'read', true, null],
      ['plan', 'read', true, null],
      ['ask', 'read', true, null],
      ['task', 'write', false, expect.stringMatching(/No agent/)],
      ['skill', 'read', false, expect.stringMatching(/No skill/)],
      ['actions_search', 'read', true, null],
      ['actions_describe', 'read', true, null],
      ['actions_run', 'write', true, null],
    ]);
    expect(body.items[0]).toMatchObject({
      description: expect.stringContaining('bash script'),
      input_schema: { type: 'object', required: ['command'], properties: { command: { type: 'string' } } },
    });
  });

  it('says why one cannot be used', async () => {
    const { body } = await viewer.client.get(`/api/workspaces/${workspace}/tools`);
    const bash = body.items.find((tool: Json) => tool.name === 'bash');
    expect(bash).toMatchObject({ available: false, reason: expect.stringContaining('editor') });
    const key = await service.key(ada, { scopes: ['workspaces:read', 'files:read'] });
    const limited = await key.get(`/api/workspaces/${workspace}/tools`);
    const usable = limited.body.items.filter((tool: Json) => tool.available && !tool.agents_only);
    expect(usable.map((tool: Json) => tool.name)).toEqual([
      'list_files',
      'read_file',
      'find_files',
      'search_files',
    ]);
  });
});

describe('running a tool', () => {
  it('runs bash in the sandbox', async () => {
    const { status, body } = await run('bash', { command: 'echo hi; pwd; echo kept > kept.txt' });
    expect([status, body]).toEqual([
      200,
      {
        output: 'hi\n/workspace',
        is_error: false,
        duration_ms: expect.any(Number),
        new_session: null,
        exit_code: 0,
        working_directory: null,
        command_id: null,
      },
    ]);
    expect((await run('read_file', { path: 'kept.txt' })).body.output).toBe('1\tkept');
    expect((await run('search_files', { query: 'k[e]pt', regex: true })).body.output).toBe(
      'kept.txt:1: kept',
    );
  });

  it('gives failures as the tool tells them', async () => {
    expect((await run('bash', { command: 'exit 3' })).body).toMatchObject({
      output: 'Exit code 3.',
      is_error: true,
    });
    expect(await run('read_file', { path: 'gone' })).toMatchObject({ status: 200, body: { is_error: true } });
  });

  it('refuses what makes no sense, and what the caller may not', async () => {
    expect((await run('no_such_tool', {})).status).toBe(404);
    expect(await run('bash', {})).toMatchObject({ status: 422 });
    expect(await run('bash', { command: 'true', cwd: '/' })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('cwd') },
    });
    expect((await run('bash', 'true')).status).toBe(422);
    expect((await run('bash', { command: 'touch never' }, viewer)).status).toBe(403);
    expect((await run('write_file', { path: 'never', content: '' }, viewer)).status).toBe(403);
    expect((await run('list_files', {}, viewer)).status).toBe(200);
    const stranger = await service.person('Mallory');
    expect((await run('bash', { command: 'touch never' }, stranger)).status).toBe(404);
    expect(existsSync(placeOf('never'))).toBe(false);
  });

  it('streams output while it comes, then the end', async () => {
    const response = await startStream('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const parser = createParser();
    const seen: Json[] = [];
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      for (const { id, event, data } of parser(chunk)) {
        seen.push({ id, event, data });
        if (data.text === 'one\n') await run('write_file', { path: 'go', content: '' });
      }
    expect(seen).toEqual([
      { id: 1, event: 'tool.output', data: { text: 'one\n' } },
      { id: 2, event: 'tool.output', data: { text: 'two\n' } },
      {
        id: 3,
        event: 'tool.finished',
        data: {
          output: 'one\ntwo\nExit code 4.',
          is_error: true,
          duration_ms: expect.any(Number),
          new_session: null,
          exit_code: 4,
          working_directory: null,
          command_id: null,
        },
      },
    ]);
  });

  it('refuses before it streams', async () => {
    const response = await ada.client.raw('POST', `/api/workspaces/${workspace}/tools/bash`, {
      body: JSON.stringify({ input: {} }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    });
    expect(response.status).toBe(422);
  });

  it('ends with its client', async () => {
    const leave = new AbortController();
    const response = await startStream('echo begun; exec flock lock sleep 600', leave.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    leave.abort();
    // Another command gets the lock as soon as the first has died.
    const { body } = await run('bash', { command: 'flock -w 100 lock echo mine', timeout_seconds: 120 });
    expect(body).toMatchObject({ output: 'mine', is_error: false });
  });
});
