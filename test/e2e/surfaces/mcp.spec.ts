import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { MAX_CHARACTERS } from '../../../src/surfaces/mcp/call/mcp-tool.js';
import type { Client, Json } from '../../harness/client.js';
import { type Connect, connectFirst, connectNext, INFO, type McpClient } from '../../harness/mcp-clients.js';
import { OAuthClient, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

const ALLOWED = 'https://app.example.com';
const INSPECTOR = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

let service: TestService;
let owner: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;

beforeAll(async () => {
  service = await startOAuthService({ MCP_ALLOWED_ORIGINS: ALLOWED });
  owner = await service.person('Owner');
  viewer = await service.person('Viewer');
  stranger = await service.person('Stranger');
  workspace = await service.workspace(owner, { visibility: 'restricted' });
  await service.join(viewer, {
    organization: owner.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
  await put('notes.md', '# Notes\nfind me\n');
  await put('.agents/reviewer.md', '---\ndescription: Reviews texts\n---\nReview what you are given.\n');
});
afterAll(() => service.stop());

const put = (path: string, content: string) =>
  owner.client.put(`/api/workspaces/${workspace}/files/content`, { path, content });

const at =
  (open: Connect) =>
  (headers: Record<string, string>, query = '') =>
    open(`${service.url}/mcp${query}`, headers);
const first = at(connectFirst);
const next = (revision: string) => at(connectNext(revision));
const connect = next('2026-07-28');

/** Connects, works and closes. */
async function using<T>(
  headers: Record<string, string>,
  work: (client: McpClient) => Promise<T>,
  query = '',
): Promise<T> {
  const client = await connect(headers, query);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const call = (person: Person | Client, name: string, input: Json = {}): Promise<Json> =>
  using('client' in person ? person.client.headers : person.headers, async client => {
    // The SDK checks structured content against the schemas that were listed.
    await client.listTools();
    return client.callTool({ name, arguments: input });
  });

const TOOLS = [
  'actions_describe',
  'actions_read',
  'actions_search',
  'actions_write',
  'bash',
  'bash_kill',
  'bash_output',
  'edit_file',
  'list_files',
  'list_workspaces',
  'read_file',
  'run_status',
  'search_files',
  'send_message',
  'write_file',
];
const READING = TOOLS.filter(name =>
  /^(list|read|find|search|run_status|actions_(describe|read|search))/.test(name),
);
const namesOf = ({ tools }: Json): string[] => tools.map(({ name }: Json) => name);

describe.each([
  ['the first SDK (2025-11-25)', first],
  ['the second SDK at 2026-07-28', next('2026-07-28')],
  ['the second SDK at 2025-11-25', next('2025-11-25')],
  ['the second SDK at 2025-06-18', next('2025-06-18')],
])('a client of %s', (_name, open) => {
  let client: McpClient;
  beforeAll(async () => {
    client = await open((await service.key(owner)).headers);
  });
  afterAll(() => client.close());

  it('lists the tools, sorted and always the same', async () => {
    const listed = await client.listTools();
    expect(namesOf(listed)).toEqual(TOOLS);
    expect((await client.listTools()).tools).toEqual(listed.tools);
  });

  it('writes, edits, reads, lists and searches files', async () => {
    await client.listTools();
    const at = { workspace_id: workspace };
    const path = `tools-${_name.replaceAll(/\W+/g, '-')}.txt`;
    const calls: [string, Json, Json][] = [
      ['list_workspaces', {}, { items: [{ id: workspace, role: 'admin' }] }],
      ['write_file', { ...at, path, content: 'one\ntwo\n' }, { path, created: true }],
      ['edit_file', { ...at, path, old_text: 'two', new_text: 'needle' }, { path, replacements: 1 }],
      ['read_file', { ...at, path, start_line: 2 }, { content: 'needle\n', total_lines: 2 }],
      ['list_files', { ...at, limit: 1 }, { items: [{ path: '.agents' }] }],
      [
        'search_files',
        { ...at, query: 'needle' },
        { items: expect.arrayContaining([expect.objectContaining({ path, line: 2 })]) },
      ],
    ];
    for (const [name, input, output] of calls) {
      const answer = await client.callTool({ name, arguments: input });
      expect(answer.isError ?? false).toBe(false);
      expect(answer.structuredContent).toMatchObject(output);
      expect(answer.content[0]).toMatchObject({ type: 'text', text: expect.any(String) });
    }
  });

  it('runs code in the sandbox', async () => {
    const input = { workspace_id: workspace, command: 'cat notes.md; exit 3' };
    const answer = await client.callTool({ name: 'bash', arguments: input });
    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('find me') }] });
  });

  it('sends a message to an agent and waits for the result', async () => {
    const sent = await client.callTool({
      name: 'send_message',
      arguments: { workspace_id: workspace, message: 'list' },
    });
    const { call_id } = sent.structuredContent;
    const look = () => client.callTool({ name: 'run_status', arguments: { call_id, wait: 30 } });
    let ended = await look();
    while (ended.structuredContent.status === 'pending') ended = await look();
    expect(ended.structuredContent).toMatchObject({ call_id, status: 'completed' });
    const { contents } = await client.readResource({ uri: `atelier://run/${call_id}` });
    expect(JSON.parse(contents[0].text)).toMatchObject({ status: 'completed' });
  });

  it('reads resources and prompts', async () => {
    const uri = `atelier://workspace/${workspace}/notes.md`;
    const { resources } = await client.listResources();
    expect(resources).toContainEqual(expect.objectContaining({ uri, mimeType: 'text/markdown' }));
    expect((await client.readResource({ uri })).contents).toEqual([
      { uri, mimeType: 'text/markdown', text: '# Notes\nfind me\n' },
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
    const name = `reviewer@${workspace}`;
    expect((await client.listPrompts()).prompts).toEqual([
      expect.objectContaining({ name, description: 'Reviews texts' }),
    ]);
    const { messages } = await client.getPrompt({ name, arguments: { task: 'notes.md' } });
    expect(messages[0].content.text).toBe('Review what you are given.\n\nnotes.md');
  });
});

describe('the listing', () => {
  it('is small, and says of every tool what it does, takes, gives and may harm', async () => {
    const { tools } = await using(owner.client.headers, client => client.listTools());
    expect(tools.length).toBeLessThanOrEqual(20);
    expect(JSON.stringify(tools).length / 4).toBeLessThan(6_000);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const tool of tools) {
      expect(tool).toMatchObject({
        title: expect.stringMatching(/^[A-Z]/),
        description: expect.stringMatching(/\.$/),
        annotations: {
          title: tool.title,
          readOnlyHint: expect.any(Boolean),
          destructiveHint: expect.any(Boolean),
          idempotentHint: expect.any(Boolean),
          openWorldHint: expect.any(Boolean),
        },
      });
      expect(() => ajv.compile(tool.inputSchema)).not.toThrow();
      expect(() => ajv.compile(tool.outputSchema)).not.toThrow();
    }
  });

  it('is narrowed by the address', async () => {
    const listed = (query: string) =>
      using(owner.client.headers, async client => namesOf(await client.listTools()), query);
    expect(await listed('?readonly=1')).toEqual(READING);
    expect(await listed('?toolsets=code,agents')).toEqual([
      'bash',
      'bash_kill',
      'bash_output',
      'run_status',
      'send_message',
    ]);
    expect(await listed('?toolsets=code,files&readonly=true')).toEqual([
      'list_files',
      'read_file',
      'search_files',
    ]);
  });

  it('has further tools for who asks for them', async () => {
    const listed = (query: string) =>
      using(owner.client.headers, async client => namesOf(await client.listTools()), query);
    expect(await listed('?toolsets=coding')).toEqual(['apply_patch', 'find_files', 'multi_edit']);
    expect(await listed('?toolsets=coding&readonly=1')).toEqual(['find_files']);
    const patch = '*** Begin Patch\n*** Add File: patched/by-mcp.txt\n+one\n*** End Patch';
    const called = await using(
      owner.client.headers,
      client => client.callTool({ name: 'apply_patch', arguments: { workspace_id: workspace, patch } }),
      '?toolsets=coding',
    );
    expect(called.content).toEqual([{ type: 'text', text: 'A patched/by-mcp.txt' }]);
    expect(called.structuredContent).toMatchObject({
      files: [{ path: 'patched/by-mcp.txt', kind: 'created' }],
    });
  });

  it('gives an image as one', async () => {
    const data =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const input = { workspace_id: workspace, path: 'pixel.png' };
    await owner.client.put(`/api/workspaces/${workspace}/files/content`, {
      path: 'pixel.png',
      content: data,
      encoding: 'base64',
    });
    const called = await using(owner.client.headers, client =>
      client.callTool({ name: 'read_file', arguments: input }),
    );
    expect(called.content).toEqual([
      { type: 'text', text: 'pixel.png: image/png, 1 × 1 pixels, 70 bytes' },
      { type: 'image', data, mimeType: 'image/png' },
    ]);
    expect(called.structuredContent).toMatchObject({ image: { width: 1, height: 1 } });
    expect(JSON.stringify(called.structuredContent)).not.toContain(data);
  });

  it('narrows what can be called as well', async () => {
    const input = { workspace_id: workspace, path: 'x.txt', content: 'x' };
    await using(
      owner.client.headers,
      async client => {
        await expect(client.callTool({ name: 'write_file', arguments: input })).rejects.toThrow(
          'There is no tool write_file',
        );
      },
      '?readonly=1',
    );
  });

  it.each(['?readonly=perhaps', '?toolsets=files,everything'])('refuses %s', async query => {
    expect((await owner.client.post(`/mcp${query}`, {})).status).toBe(400);
  });
});

describe('paths', () => {
  it('are taken as commands see them, and refused where they are those of other places', async () => {
    const input = { workspace_id: workspace, path: '/workspace/seen.txt', content: 'seen\n' };
    expect((await call(owner, 'write_file', input)).isError).not.toBe(true);
    const relative = await call(owner, 'read_file', { workspace_id: workspace, path: 'seen.txt' });
    expect(relative.content[0].text).toContain('seen');
    const other = await call(owner, 'read_file', { workspace_id: workspace, path: '/etc/passwd' });
    expect(other).toMatchObject({ isError: true });
    expect(other.content[0].text).toContain('lies outside the workspace, which is /workspace');
  });
});

describe('what is refused', () => {
  const write = () => ({ workspace_id: workspace, path: 'mine.txt', content: 'x' });
  const sentence = async (asked: Promise<Json>) => {
    const { isError, content } = await asked;
    expect(isError).toBe(true);
    return content[0].text;
  };

  it('is told to a viewer as a tool error', async () => {
    expect(await sentence(call(viewer, 'write_file', write()))).toMatch(/Requires the editor role/);
    expect(await sentence(call(viewer, 'bash', { workspace_id: workspace, command: 'date' }))).toMatch(
      /Requires the editor role/,
    );
    const { content } = await call(viewer, 'read_file', { workspace_id: workspace, path: 'notes.md' });
    expect(content[0].text).toContain('find me');
  });

  it('is not to be told from what is not there, for a stranger', async () => {
    for (const [name, input] of [
      ['write_file', write()],
      ['list_files', { workspace_id: workspace }],
      ['bash', { workspace_id: workspace, command: 'date' }],
      ['actions_read', { name: 'workspace_get', input: { workspace_id: workspace } }],
    ] as const)
      expect(await sentence(call(stranger, name, input))).toBe('No such workspace');
    const uri = `atelier://workspace/${workspace}/notes.md`;
    await using(stranger.client.headers, async client => {
      await expect(client.readResource({ uri })).rejects.toThrow('No such workspace');
      await expect(client.getPrompt({ name: `reviewer@${workspace}` })).rejects.toThrow('No such workspace');
      expect((await client.listPrompts()).prompts).toEqual([]);
    });
  });

  it('goes by the scopes of a key', async () => {
    const key = await service.key(owner, { scopes: ['files:read', 'workspaces:read'] });
    expect(await sentence(call(key, 'write_file', write()))).toBe('This key lacks the scope files:write');
    expect(await sentence(call(key, 'actions_search'))).toBe('This key lacks the scope actions:read');
    expect((await call(key, 'list_files', { workspace_id: workspace })).isError ?? false).toBe(false);
  });

  it('lets a key that only reads run what reads, shows it nothing else, and names the scope that it lacks', async () => {
    const key = await service.key(owner, { scopes: ['actions:read', 'workspaces:read', 'files:read'] });
    const read = { name: 'workspace_get', input: { workspace_id: workspace } };
    expect((await call(key, 'actions_read', read)).structuredContent).toMatchObject({
      status: 'completed',
      output: { id: workspace },
    });
    const write = { name: 'folder_create', input: { workspace_id: workspace, path: 'none' } };
    expect(await sentence(call(key, 'actions_write', write))).toBe('This key lacks the scope actions:run');
    const asked = { name: 'chat_list', input: { workspace_id: workspace } };
    expect(await sentence(call(key, 'actions_read', asked))).toBe('This key lacks the scope chats:read');
    const found = async (who: Person | Client, more: Json = {}) =>
      (await call(who, 'actions_search', { query: 'file', limit: 50, ...more })).structuredContent.actions;
    const shown = await found(key);
    expect(shown.map(({ name }: Json) => name)).toContain('file_read');
    expect(new Set(shown.map(({ effect }: Json) => effect))).toEqual(new Set(['read']));
    const viewed = (await found(viewer, { workspace_id: workspace })).map(({ name }: Json) => name);
    expect(viewed).toContain('file_read');
    expect(viewed).not.toContain('file_write');
  });

  it('waits for a run no longer than clients wait for an answer', async () => {
    const sent = await owner.client.post('/api/agent/message', {
      message: 'list',
      workspace_id: workspace,
      model: 'atelier/demo',
    });
    const { call_id } = sent.body;
    await owner.client.get(`/api/agent/status/${call_id}?wait=60`);
    const input = { call_id, wait: 60 };
    expect((await call(owner, 'run_status', input)).structuredContent).toMatchObject({ status: 'completed' });
    expect((await call(owner, 'actions_read', { name: 'run_status_get', input })).isError ?? false).toBe(
      false,
    );
    const rows = await service.database.query(
      "select input from action_run where action = 'run_status_get' and input ->> 'call_id' = $1",
      [call_id],
    );
    expect(rows.map(row => row.input.wait)).toEqual([45, 45]);
  });

  it.each<[string, Json, RegExp]>([
    ['read_file', { workspace_id: 'x', path: 'a' }, /workspace_id must be a UUID/],
    ['bash', { workspace_id: 'x', command: 'date' }, /workspace_id must be a UUID/],
    ['bash', {}, /workspace_id is required/],
    ['read_file', { path: 'a' }, /workspace_id/],
    ['write_file', { content: 1 }, /path|content|workspace_id/],
    ['list_workspaces', { sort: 'name' }, /sort is not a field/],
    ['actions_describe', { name: 'nothing' }, /There is no action nothing/],
  ])('names the field of %s', async (name, input, reason) => {
    expect(await sentence(call(owner, name, input))).toMatch(reason);
  });

  it('is a protocol error for what is no tool, resource or prompt', async () => {
    await using(owner.client.headers, async client => {
      await expect(client.callTool({ name: 'drop_table' })).rejects.toThrow('There is no tool drop_table');
      for (const uri of [
        'file:///etc/passwd',
        'atelier://workspace/x/y',
        `atelier://workspace/${workspace}/%zz`,
      ])
        await expect(client.readResource({ uri })).rejects.toThrow('There is no resource');
      await expect(
        client.readResource({ uri: `atelier://workspace/${workspace}/..%2F..%2Fetc/passwd` }),
      ).rejects.toThrow();
      await expect(client.getPrompt({ name: 'reviewer' })).rejects.toThrow('There is no prompt');
    });
  });

  it('tells nothing of a fault of ours', async () => {
    await service.database.query('alter table workspace rename to workspace_gone');
    try {
      await using(owner.client.headers, async client => {
        const asked = client.callTool({ name: 'list_workspaces', arguments: {} });
        await expect(asked).rejects.toThrow(/^(?!.*workspace_gone|.*relation).*Internal server error/);
      });
    } finally {
      await service.database.query('alter table workspace_gone rename to workspace');
    }
  });
});

describe('the catalog', () => {
  it('is searched, described and run', async () => {
    const found = await call(owner, 'actions_search', { query: 'move a file', limit: 3 });
    expect(namesOf({ tools: found.structuredContent.actions })).toContain('file_move');
    const described = await call(owner, 'actions_describe', { name: 'file_move' });
    expect(described.structuredContent).toMatchObject({ name: 'file_move', effect: 'write' });
    await put('old.txt', 'old');
    const moved = await call(owner, 'actions_write', {
      name: 'file_move',
      workspace_id: workspace,
      input: { from: 'old.txt', to: 'new.txt' },
    });
    expect(moved.structuredContent).toMatchObject({ status: 'completed', output: { path: 'new.txt' } });
    const { run_id } = moved.structuredContent;
    const { body } = await owner.client.get(`/api/action-runs/${run_id}`);
    expect(body).toMatchObject({ action: 'file_move', surface: 'mcp' });
  });

  it('keeps reading and changing apart, and asks before it destroys', async () => {
    const remove = { name: 'file_delete', workspace_id: workspace, input: { path: 'gone.txt' } };
    await put('gone.txt', 'x');
    const text = async (name: string, input: Json) => (await call(owner, name, input)).content[0].text;
    expect(await text('actions_read', remove)).toMatch(
      /effect of file_delete is destructive: use actions_write/,
    );
    expect(await text('actions_write', { name: 'workspace_list' })).toMatch(/use actions_read/);
    expect(await text('actions_write', remove)).toMatch(/has to allow it: ask them to open \S+\/approvals\//);
    const rehearsed = await call(owner, 'actions_write', { ...remove, dry_run: true });
    expect(rehearsed.structuredContent).toMatchObject({ status: 'validated' });
  });

  it('has a record of tools that are no actions, with what they were given and who was refused', async () => {
    const input = { workspace_id: workspace, command: 'echo recorded' };
    await call(owner, 'bash', input);
    await call(viewer, 'bash', input);
    await call(viewer, 'bash', { ...input, timeout_seconds: 'long' });
    await call(owner, 'search_files', { workspace_id: workspace, query: 'find me' });
    const runs = async (person: Person, action: string, at = 0) =>
      (await person.client.get(`/api/action-runs?action=${action}&limit=3`)).body.items[at];
    expect(await runs(owner, 'bash', 2)).toMatchObject({
      surface: 'mcp',
      status: 'completed',
      workspace_id: workspace,
    });
    const { body } = await owner.client.get(`/api/action-runs/${(await runs(owner, 'bash', 2)).id}`);
    expect(body).toMatchObject({ input, output: { output: expect.stringContaining('recorded') } });
    expect(await runs(viewer, 'bash')).toMatchObject({ status: 'refused', error: { status: 422 } });
    // Admins see who was refused in their workspace.
    expect(await runs(owner, 'bash', 1)).toMatchObject({
      status: 'refused',
      error: { status: 403 },
      workspace_id: workspace,
    });
    expect(await runs(owner, 'workspace_search')).toMatchObject({ status: 'completed' });
  });

  it('tells a client that asks for it what comes out while a tool runs', async () => {
    const client = await connect(owner.client.headers);
    const told: Json[] = [];
    const command = 'echo one; sleep 0.2; echo two';
    await (client as Json).callTool(
      { name: 'bash', arguments: { workspace_id: workspace, command } },
      { onprogress: (progress: Json) => told.push(progress) },
    );
    expect(told.map(({ message }) => message).join('')).toContain('one');
    await client.close();
  });

  it('lets commands go on in a session, by whose name their output is read and they are ended', async () => {
    const where = { workspace_id: workspace, session: 'mcp' };
    const text = async (name: string, input: Json) =>
      (await call(owner, name, { ...where, ...input })).structuredContent.output;
    const command = 'echo up; while :; do sleep 1; done';
    expect(await text('bash', { command, run_in_background: true })).toMatch(/^c1 runs in the background/);
    await text('bash', { command: 'until grep -q up .atelier/output/*/bash-c1.txt; do sleep 0.02; done' });
    expect(await text('bash_output', { id: 'c1' })).toMatch(/^up\nc1 is running/);
    expect(await text('bash_kill', { id: 'c1' })).toBe('(no new output)\nc1 was killed.');
    expect(await call(owner, 'bash_output', { workspace_id: workspace, id: 'c1' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('session') }],
    });
    expect(await call(viewer, 'bash_kill', { ...where, id: 'c1' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('editor') }],
    });
  });

  it('leaves what takes a sign-in to a sign-in', async () => {
    const key = await service.key(owner);
    const answer = await call(key, 'actions_write', { name: 'key_create', input: { name: 'another' } });
    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('sign-in') }] });
  });
});

describe('a result that is too long', () => {
  it('is the lines that fit, with a link to the file', async () => {
    const line = `${'x'.repeat(99)}\n`;
    await put('long.txt', line.repeat(2_000));
    const answer = await call(owner, 'read_file', { workspace_id: workspace, path: 'long.txt' });
    const { content, end_line, total_lines, truncated } = answer.structuredContent;
    expect(JSON.stringify(answer.structuredContent).length).toBeLessThanOrEqual(MAX_CHARACTERS);
    expect({ content, total_lines, truncated }).toEqual({
      content: line.repeat(end_line),
      total_lines: 2_000,
      truncated: true,
    });
    const uri = `atelier://workspace/${workspace}/long.txt`;
    expect(answer.content[1]).toMatchObject({ type: 'resource_link', uri });
    await using(owner.client.headers, async client => {
      expect((await client.readResource({ uri })).contents[0].text).toHaveLength(200_000);
    });
  });

  it('is a shorter page, whose cursor goes on where it ends', async () => {
    const names = Array.from(
      { length: 150 },
      (_, n) => `many/${String(n).padStart(3, '0')}${'y'.repeat(240)}`,
    );
    for (const name of names) await put(name, '');
    const paths: string[] = [];
    let cursor: string | undefined;
    do {
      const answer = await call(owner, 'list_files', {
        workspace_id: workspace,
        path: 'many',
        limit: 200,
        cursor,
      });
      expect(JSON.stringify(answer.structuredContent).length).toBeLessThanOrEqual(MAX_CHARACTERS);
      paths.push(...answer.structuredContent.items.map(({ path }: Json) => path));
      cursor = answer.structuredContent.next_cursor ?? undefined;
    } while (cursor);
    expect(paths).toEqual(names);
  });

  it('is left out where it is the output of an action, and its beginning told', async () => {
    const answer = await call(owner, 'actions_read', {
      name: 'file_read',
      workspace_id: workspace,
      input: { path: 'long.txt' },
    });
    expect(answer.structuredContent).toMatchObject({ output: null, left_out: expect.any(Number) });
    expect(JSON.stringify(answer).length).toBeLessThan(MAX_CHARACTERS);
  });

  it('is cut where it comes from the sandbox', async () => {
    const command = 'yes | head -c 200000';
    const answer = await call(owner, 'bash', { workspace_id: workspace, command });
    expect(JSON.stringify(answer.structuredContent).length).toBeLessThanOrEqual(MAX_CHARACTERS);
  });

  it('is refused as a resource above 4 MiB, and bytes come as a blob', async () => {
    await owner.client.raw('PUT', `/api/workspaces/${workspace}/files/upload?path=big.bin`, {
      body: new Uint8Array(5 * 1024 * 1024),
      headers: { 'content-type': 'application/octet-stream' },
    });
    await owner.client.raw('PUT', `/api/workspaces/${workspace}/files/upload?path=dot.png`, {
      body: new Uint8Array([0, 1, 255]),
      headers: { 'content-type': 'application/octet-stream' },
    });
    await using(owner.client.headers, async client => {
      const read = (path: string) => client.readResource({ uri: `atelier://workspace/${workspace}/${path}` });
      await expect(read('big.bin')).rejects.toThrow(/more than the 4194304/);
      expect((await read('dot.png')).contents[0]).toMatchObject({ mimeType: 'image/png', blob: 'AAH/' });
      expect(JSON.parse((await read('.agents')).contents[0].text).items).toHaveLength(1);
    });
  });
});

describe.each(['2025-11-25', '2026-07-28'])('a request of %s that is plainly in order', revision => {
  /** Sent as it is, and with something in it that nobody looks at, which makes the SDK answer. */
  const both = async (method: string, params: Json) => {
    const isModern = revision === '2026-07-28';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': INFO,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const send = async (meta: Json) => {
      const answer = await raw(
        'POST',
        {
          ...asClient(),
          'mcp-protocol-version': revision,
          ...(isModern ? { 'mcp-method': method } : {}),
          ...(isModern && params.name ? { 'mcp-name': params.name } : {}),
        },
        JSON.stringify({
          jsonrpc: '2.0',
          id: 'a"b',
          method,
          params: meta ? { ...params, _meta: meta } : params,
        }),
      );
      return { status: answer.status, body: JSON.parse(answer.text) };
    };
    const answers = [
      await send(isModern ? _meta : undefined),
      await send({ ...(isModern ? _meta : {}), 'com.example/ignored': 1 }),
    ] as const;
    return answers;
  };

  it.each<[string, Json]>([
    ['tools/list', {}],
    ['tools/call', { name: 'actions_describe', arguments: { name: 'file_read' } }],
    ['tools/call', { name: 'read_file', arguments: { path: 'notes.md' } }],
    ['tools/call', { name: 'read_file', arguments: { path: 'nothing.md' } }],
    ['tools/call', { name: 'list_workspaces' }],
    ['tools/call', { name: 'bash', arguments: { command: 'exit 3' } }],
    ['tools/call', { name: 'no_such_tool', arguments: {} }],
  ])('is answered to %s %j as the SDK would answer', async (method, { arguments: input, ...params }) => {
    const takesPlace = ['read_file', 'bash'].includes(params.name);
    const [short, long] = await both(method, {
      ...params,
      ...(input ? { arguments: takesPlace ? { workspace_id: workspace, ...input } : input } : {}),
    });
    expect(short).toEqual(long);
  });
});

it('calls actions with numbers that keep their digits, and answers them', async () => {
  const path = 'automations/digits.md';
  const code = 'cp "$ATELIER_INPUT" "$ATELIER_OUTPUT"';
  await put(path, `---\nrun: bash\n---\n\`\`\`bash\n${code}\n\`\`\`\n`);
  const input = `{"workspace_id":"${workspace}","file_path":"${path}","draft":true,"wait":60,"input":{"id":8202522731445525542}}`;
  const params = `{"name":"actions_write","arguments":{"name":"automation_trigger","input":${input}}}`;
  const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  const headers = { ...asClient(), 'mcp-protocol-version': '2025-11-25' };
  const { status, text: answer } = await raw('POST', headers, message);
  expect([status, answer]).toEqual([200, expect.stringContaining('"output":{"id":8202522731445525542}')]);
});

it('answers 20 calls at once', async () => {
  await using((await service.key(owner)).headers, async client => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.callTool({
          name: 'write_file',
          arguments: { workspace_id: workspace, path: `at-once/${n}.txt`, content: String(n) },
        }),
      ),
    );
    expect(answers.map(({ structuredContent }) => structuredContent.path)).toEqual(
      Array.from({ length: 20 }, (_, n) => `at-once/${n}.txt`),
    );
  });
});

/** A request whose Host and Origin are what the test says, which fetch would not let through. */
function raw(method: string, headers: Record<string, string>, body?: string): Promise<Json> {
  const { hostname, port, host } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, path: '/mcp', method, headers: { host, ...headers } },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', part => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      },
    );
    request.on('error', reject).end(body);
  });
}

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const asClient = () => ({
  ...owner.client.headers,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
});

describe('pages of others', () => {
  it.each<[string, Record<string, string>, number]>([
    ['no Origin', {}, 200],
    ['an allowed Origin', { origin: ALLOWED }, 200],
    ['another Origin', { origin: 'https://evil.example' }, 403],
    ['an Origin that only begins alike', { origin: `${ALLOWED}.evil.example` }, 403],
    ['the Origin null', { origin: 'null' }, 403],
    ['a Host that is not ours', { host: 'evil.example' }, 403],
    [
      'a Host that is not ours, with an Origin to match',
      { host: 'evil.example', origin: 'http://evil.example' },
      403,
    ],
    ['the Host localhost', { host: 'localhost' }, 200],
  ])('are told by %s', async (_name, headers, status) => {
    const answer = await raw('POST', { ...asClient(), ...headers }, PING);
    expect(answer.status).toBe(status);
    if (status === 403) expect(JSON.parse(answer.text)).toEqual({ detail: expect.any(String) });
  });

  it('may be our own', async () => {
    expect((await raw('POST', { ...asClient(), origin: service.url }, PING)).status).toBe(200);
  });

  it('learn by a preflight whether they are allowed', async () => {
    const asks = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const { status, headers } = await raw('OPTIONS', { ...asks, origin: ALLOWED });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': ALLOWED,
      'access-control-allow-headers': 'authorization',
    });
    expect((await raw('OPTIONS', { ...asks, origin: 'https://evil.example' })).status).toBe(403);
  });
});

describe('who calls', () => {
  it('is asked for a token, and told where to get one', async () => {
    const metadata = `resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp"`;
    const { status, headers, body } = await service.stranger.post('/mcp', JSON.parse(PING));
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe(`Bearer scope="read write", ${metadata}`);
    const reading = await service.stranger.post('/mcp?readonly=1', JSON.parse(PING));
    expect(reading.headers.get('www-authenticate')).toBe(`Bearer scope="read", ${metadata}`);
    expect(body).toEqual({ detail: expect.any(String) });
    for (const [name, value] of [
      ['authorization', 'Bearer nonsense'],
      ['x-api-key', 'atl_nonsense'],
    ] as const) {
      const answer = await service.stranger.with({ [name]: value }).post('/mcp', JSON.parse(PING));
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toContain('resource_metadata=');
    }
  });

  it('may come with an OAuth token that is for the endpoint, and with no other', async () => {
    const client = await OAuthClient.register(service);
    const { access_token } = await client.authorize(owner, { scope: 'read' });
    const headers = { authorization: `Bearer ${access_token}` };
    await using(headers, async mcp => {
      const { structuredContent } = await mcp.callTool({ name: 'list_workspaces', arguments: {} });
      expect(structuredContent.items).toContainEqual(expect.objectContaining({ id: workspace }));
    });
    const other = await client.authorize(owner, { scope: 'read', resource: `${service.url}/api` });
    const refused = await client.as(other.access_token).post('/mcp', JSON.parse(PING));
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('is sent back to its person for a scope that it lacks, with what to ask for', async () => {
    const client = await OAuthClient.register(service);
    const asking = (method: string, params: Json) => ({ jsonrpc: '2.0', id: 1, method, params });
    const calling = (name: string, input: Json) => asking('tools/call', { name, arguments: input });
    const read = (uri: string) => asking('resources/read', { uri });
    const write = calling('write_file', { workspace_id: workspace, path: 'x.txt', content: 'x' });
    const remove = calling('actions_write', { name: 'member_remove', input: {} });
    const metadata = `resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp"`;
    for (const [scope, body, asked] of [
      ['read', write, 'read write'],
      ['files:read', write, 'files:read files:write'],
      ['read write', remove, 'read write members:write'],
      ['chats:read', read(`atelier://workspace/${workspace}/x.txt`), 'chats:read files:read'],
      ['files:read', read('atelier://run/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f'), 'files:read chats:read'],
      ['files:read', asking('resources/list', {}), 'files:read workspaces:read'],
      ['chats:read', asking('prompts/get', { name: `poet@${workspace}` }), 'chats:read files:read'],
    ] as const) {
      const { access_token } = await client.authorize(owner, { scope });
      const answer = await client.as(access_token).with({ accept: asClient().accept }).post('/mcp', body);
      expect(answer.status).toBe(403);
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer error="insufficient_scope", scope="${asked}", ${metadata}`,
      );
      const run = answer.headers.get('action-run-id');
      expect(run !== null).toBe(body === write || body === remove);
      if (run)
        expect((await owner.client.get(`/api/action-runs/${run}`)).body).toMatchObject({
          action: body === write ? 'file_write' : 'member_remove',
          status: 'refused',
          surface: 'mcp',
          error: { status: 403, detail: expect.stringContaining('lacks the scope') },
          workspace_id: body === write ? workspace : null,
        });
    }
  });

  it('may come with one credential only', async () => {
    const key = await service.key(owner);
    expect((await key.with(owner.client.headers).post('/mcp', JSON.parse(PING))).status).toBe(400);
  });
});

describe('the address in a browser', () => {
  it('explains itself, without a credential and without scripts', async () => {
    const { status, headers, text } = await raw('GET', { accept: 'text/html,application/xhtml+xml' });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).toContain(`claude mcp add --transport http atelier ${service.url}/mcp`);
    for (const client of ['Claude', 'Cursor', 'VS Code']) expect(text).toContain(client);
    expect(text).not.toContain('<script');
  });

  it('is for the protocol to everybody else', async () => {
    expect((await raw('GET', { accept: 'text/event-stream' })).status).toBe(401);
    expect((await raw('GET', { ...asClient(), accept: 'text/event-stream' })).status).toBe(405);
    expect((await raw('DELETE', asClient())).status).toBe(405);
    expect((await raw('POST', { ...asClient(), 'content-type': 'text/plain' }, PING)).status).toBe(415);
    expect((await raw('POST', asClient(), '{')).status).toBe(400);
    expect((await raw('POST', asClient(), '')).status).toBe(400);
    expect((await raw('POST', asClient(), `[${PING},${PING}]`)).status).toBe(400);
    const read = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'x'.repeat(20_000) } };
    expect((await raw('POST', asClient(), JSON.stringify(read))).status).toBe(422);
  });
});

describe("the Inspector's command line", () => {
  /** Runs it as a person would; what it prints is JSON. */
  async function inspect(
    ...options: string[]
  ): Promise<{ code: number | null; printed: Json; told: string }> {
    const { access_token } = await (await OAuthClient.register(service)).authorize(owner, {
      scope: 'read write',
    });
    const home = mkdtempSync(path.join(tmpdir(), 'inspector-'));
    const header = ['--header', `Authorization: Bearer ${access_token}`];
    const command = [INSPECTOR, '--cli', `${service.url}/mcp`, '--transport', 'http', ...options, ...header];
    const child = spawn(process.execPath, command, { env: { ...process.env, HOME: home, NODE_OPTIONS: '' } });
    const [printed, told, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    rmSync(home, { recursive: true, force: true });
    return { code, printed: JSON.parse(printed || 'null'), told };
  }

  it('lists the tools, and finds no error in their schemas', async () => {
    const { code, printed, told } = await inspect('--method', 'tools/list', '--strict');
    expect({ code, told }).toEqual({ code: 0, told: expect.stringMatching(/^(Warning.*)?0 errors/s) });
    expect(namesOf(printed)).toEqual(TOOLS);
  });

  it('calls a tool and reads a resource', async () => {
    const where = [`workspace_id=${workspace}`, 'path=notes.md'];
    const call = await inspect('--method', 'tools/call', '--tool-name', 'read_file', '--tool-arg', ...where);
    expect(call).toMatchObject({ code: 0, printed: { structuredContent: { path: 'notes.md' } } });
    const uri = `atelier://workspace/${workspace}/notes.md`;
    const { printed } = await inspect('--method', 'resources/read', '--uri', uri);
    expect(printed.contents).toEqual([{ uri, mimeType: 'text/markdown', text: '# Notes\nfind me\n' }]);
  });
});
