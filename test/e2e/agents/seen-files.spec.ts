import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RunFiles } from '../../../src/agents/runs/run-files.store.js';
import { type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';

let ground: AgentGround;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
});
beforeEach(async () => {
  workspace_id = await ground.service.workspace(ground.ada);
});
afterAll(() => ground.stop());

const at = (file: string) => path.join(ground.service.dataDir, 'workspaces', workspace_id, file);
const content = (file: string) => readFileSync(at(file), 'utf8');
const put = (file: string, text: string) =>
  ground.ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: file, content: text });
const call = (name: string, input: Json) => ({ tool: { name, input } });
const read = (file: string) => call('read_file', { path: file });
const write = (file: string, text: string) => call('write_file', { path: file, content: text });
const edit = (file: string, old_text: string, new_text: string) =>
  call('edit_file', { path: file, old_text, new_text });
const patch = (...lines: string[]) =>
  call('apply_patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

/** Has these calls made one after the other. */
async function outputs(calls: Json[], fields: Json = {}): Promise<{ told: string[]; run: Json }> {
  const { model, agent } = ground;
  const from = model.requests.length;
  model.reply([...calls, { text: 'Done.' }] as never[]);
  const run = await agent.run('go', { workspace_id, ...fields });
  const last = model.requests[from + calls.length];
  const told = messagesOf(last as never)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
  return { told: told.slice(-calls.length), run };
}

/** Has the calls of a run made, with what someone else does after the first of them. */
async function crossed(first: Json, meanwhile: () => unknown, ...rest: Json[]): Promise<string[]> {
  const { model, agent } = ground;
  const from = model.requests.length;
  let go = () => {};
  const gate = new Promise<void>(resolve => {
    go = resolve;
  });
  const [second, ...others] = rest;
  model.reply([first, { ...second, after: gate }, ...others, { text: 'Done.' }] as never[]);
  const sent = await agent.send('go', { workspace_id });
  await agent.until(sent, ({ event }) => event === 'tool.finished');
  await meanwhile();
  go();
  await agent.ended(sent);
  const last = model.requests[from + 1 + rest.length];
  return messagesOf(last as never)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
}

describe('a file that the run has not read', () => {
  it('is not overwritten; a new one, an empty one and what it has read are', async () => {
    await put('notes.md', 'by a person\n');
    await put('empty.md', '');
    const { told } = await outputs([
      write('notes.md', 'lost'),
      write('empty.md', 'full'),
      write('new.md', 'one'),
      write('new.md', 'two'),
      read('/workspace/notes.md'),
      write('./notes.md', 'seen'),
    ]);
    expect(told[0]).toBe(
      '"notes.md" is there already, with 12 bytes that this run has not read, so it was not overwritten. Read it with read_file, then write it, or change a part of it with edit_file',
    );
    expect(told.slice(1, 4)).toEqual([
      'Replaced empty.md (4 bytes)',
      'Created new.md (3 bytes)',
      'Replaced new.md (3 bytes)',
    ]);
    expect(told[5]).toBe('Replaced notes.md (4 bytes)');
    expect(content('notes.md')).toBe('seen');
  });

  it('is edited and patched, where the text is in it', async () => {
    await put('a.txt', 'one\n');
    await put('b.txt', 'one\n');
    const { told } = await outputs([
      edit('a.txt', 'one', 'two'),
      patch('*** Update File: b.txt', '-one', '+two'),
    ]);
    expect(told).toEqual([expect.stringContaining('Replaced 1'), 'M b.txt\n1\ttwo']);
  });

  it('is overwritten where a command of the run has made it', async () => {
    const { told } = await outputs([
      call('bash', { command: 'echo made > made.txt' }),
      write('made.txt', 'again'),
    ]);
    expect(told[1]).toBe('Replaced made.txt (5 bytes)');
  });
});

describe('a file that someone else has changed since the run read it', () => {
  it('is not overwritten until it is read again', async () => {
    await put('a.txt', 'one\n');
    const told = await crossed(
      read('a.txt'),
      () => put('a.txt', 'by a person\n'),
      write('a.txt', 'lost'),
      read('a.txt'),
      write('a.txt', 'seen'),
    );
    expect(told[1]).toMatch(
      /^"a.txt" was changed by someone else since this run read it, so it was not overwritten/,
    );
    expect(told[3]).toBe('Replaced a.txt (4 bytes)');
  });

  it('is not edited, but its lines are shown, and then it is', async () => {
    await put('a.txt', 'one\ntwo\nthree\n');
    const told = await crossed(
      read('a.txt'),
      () => put('a.txt', 'one, by a person\ntwo\nthree\n'),
      edit('a.txt', 'two', '2'),
      edit('a.txt', 'two', '2'),
    );
    expect(told[1]).toBe(
      '"a.txt" was changed by someone else since this run read it, so nothing was written. Around the edit it is now:\n1\tone, by a person\n2\ttwo\n3\tthree\nMake the edit again if it is still right',
    );
    expect(content('a.txt')).toBe('one, by a person\n2\nthree\n');
  });

  it('is neither edited with others, nor patched, nor deleted by a patch', async () => {
    for (const change of [
      call('multi_edit', { path: 'a.txt', edits: [{ old_text: 'two', new_text: '2' }] }),
      patch('*** Update File: a.txt', '-two', '+2'),
      patch('*** Delete File: a.txt'),
    ]) {
      await put('a.txt', 'one\ntwo\n');
      const told = await crossed(read('a.txt'), () => writeFileSync(at('a.txt'), '1\ntwo\n'), change);
      expect(told[1]).toContain('was changed by someone else since this run read it');
      expect(told[1]).toContain('1\t1\n2\ttwo');
      expect(content('a.txt')).toBe('1\ntwo\n');
    }
  });

  it('is the own of the run where its command changed it', async () => {
    await put('a.txt', 'one\n');
    const { told } = await outputs([
      read('a.txt'),
      call('bash', { command: 'sed -i s/one/two/ a.txt' }),
      edit('a.txt', 'two', 'three'),
      call('bash', { command: 'echo more >> a.txt' }),
      write('a.txt', 'all'),
    ]);
    expect([told[2], told[4]]).toEqual([expect.stringContaining('Replaced 1'), 'Replaced a.txt (3 bytes)']);
  });
});

describe('what a run has seen', () => {
  it('is known to its next attempt, and to later runs of the chat, from the database', async () => {
    await put('a.txt', 'one\n');
    const { run } = await outputs([read('a.txt'), write('b.txt', 'b')]);
    const files = ground.service.app.get(RunFiles, { strict: false });
    const entry = async (file: string): Promise<{ path: string; etag: string }> =>
      (await ground.ada.client.get(`/api/workspaces/${workspace_id}/files/stat?path=${file}`)).body;
    const knows = async (file: string) =>
      files
        .of(run.call_id)
        .ofCall()
        .knowledgeOf(workspace_id, await entry(file));
    expect([await knows('a.txt'), await knows('b.txt')]).toEqual(['known', 'known']);
    const { told } = await outputs([write('a.txt', 'two')], {
      chat_id: run.chat_id,
      workspace_id: undefined,
    });
    expect(told).toEqual(['Replaced a.txt (3 bytes)']);
    await put('a.txt', 'by a person');
    await put('c.txt', 'by a person');
    expect([await knows('a.txt'), await knows('c.txt')]).toEqual(['changed', 'unseen']);
  });

  it('is no matter to people and programs, who have If-Match', async () => {
    await put('a.txt', 'one\n');
    const tool = `/api/workspaces/${workspace_id}/tools/write_file`;
    const { body } = await ground.ada.client.post(tool, { input: { path: 'a.txt', content: 'two' } });
    expect(body).toMatchObject({ is_error: false, output: 'Replaced a.txt (3 bytes)' });
  });
});

it('a patch of a run is taken back with the run', async () => {
  await put('a.txt', 'one\n');
  await put('b.txt', 'two\n');
  const { run } = await outputs([
    patch('*** Update File: a.txt', '-one', '+1', '*** Delete File: b.txt', '*** Add File: c.txt', '+c'),
  ]);
  expect(content('a.txt')).toBe('1\n');
  const rollback = await ground.ada.client.post(`/api/agent/runs/${run.call_id}/rollback`, {});
  expect(rollback.status).toBe(200);
  expect([content('a.txt'), content('b.txt')]).toEqual(['one\n', 'two\n']);
  const { body } = await ground.ada.client.get(`/api/workspaces/${workspace_id}/files`);
  expect(body.items.map((item: Json) => item.path)).toEqual(['a.txt', 'b.txt']);
});
