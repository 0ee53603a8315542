import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeAnthropic } from '../../fakes/anthropic-server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, messagesOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let claude: FakeAnthropic;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  claude = await FakeAnthropic.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: claude.url,
    DEFAULT_MODEL: 'local/small',
  });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  await claude.stop();
});

const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);
const bash = (command: string) => ({ name: 'bash', input: { command } });

function define(name: string, text: string): { workspace_id: string; agent_name: string } {
  mkdirSync(inWorkspace('.agents'), { recursive: true });
  writeFileSync(inWorkspace(`.agents/${name}.md`), text);
  return { workspace_id, agent_name: name };
}

/** What the model was told of its calls, in the request made after `from` others. */
function told(from: number): string[] {
  const request = model.requests[from];
  if (!request) throw new Error('the model was not asked again');
  return messagesOf(request)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
}

describe('a subagent', () => {
  it('is offered its tools alone, and runs no other although the model calls it', async () => {
    const place = define('reader', '---\ntools: [read_file]\n---\nRead.');
    const from = model.requests.length;
    model.reply([{ tool: bash('touch forbidden.txt') }, { text: 'I may not.' }]);
    const run = await agent.run('go', place);
    const offered = model.requests[from]?.body.tools as Json[];
    expect(offered.map(tool => tool.function.name)).toEqual(['read_file']);
    expect(told(from + 1)).toEqual(['The agent reader may not call bash; it may call read_file']);
    expect(run.result).toMatchObject({
      response: 'I may not.',
      toolOutputs: [{ tool: 'bash', is_error: true }],
    });
    expect(existsSync(inWorkspace('forbidden.txt'))).toBe(false);
  });

  it('may only read where its file does not say', async () => {
    const place = define('quiet', 'No front matter at all.');
    const from = model.requests.length;
    model.reply([{ tool: { name: 'write_file', input: { path: 'x', content: '' } } }, { text: 'No.' }]);
    await agent.run('go', place);
    const offered = model.requests[from]?.body.tools as Json[];
    expect(offered.map(tool => tool.function.name)).toEqual([
      'list_files',
      'read_file',
      'find_files',
      'search_files',
    ]);
    expect(existsSync(inWorkspace('x'))).toBe(false);
  });

  it('ends at its own limit of steps, and tells what was not done', async () => {
    const place = define('short', '---\ntools: "*"\nmax_steps: 2\n---\nBe short.');
    model.reply([
      { tool: bash('echo one >> steps.txt') },
      { tools: [bash('echo two >> steps.txt'), bash('true')] },
    ]);
    const run = await agent.run('go', place);
    expect(run).toMatchObject({
      status: 'completed',
      stop_reason: 'max_steps',
      result: { response: 'Stopped: the run has reached its limit of 2 steps.' },
    });
    expect(run.result.toolOutputs.map(({ output }: Json) => output)).toEqual([
      '(no output)',
      'Not run: the run has reached its limit of 2 steps',
      'Not run: the run has reached its limit of 2 steps',
    ]);
    expect(readFileSync(inWorkspace('steps.txt'), 'utf8')).toBe('one\n');
  });

  it('whose file is gone when its turn comes ends the run with the reason', async () => {
    const place = define('gone', '---\n---\nGone.');
    let go = () => {};
    const after = new Promise<void>(resolve => {
      go = resolve;
    });
    const from = model.requests.length;
    model.reply({ text: 'First.', after });
    const first = await agent.send('one', place);
    const second = await agent.send('two', { chat_id: first.chat_id });
    // The first run has read the file by now.
    await model.received(from + 1);
    define('gone', '---\ntoolz: bash\n---\nBroken.');
    go();
    expect((await agent.ended(first)).status).toBe('completed');
    const { status, error } = await agent.ended(second);
    expect([status, error.type]).toEqual(['error', 'refused']);
    expect(error.message).toContain('"toolz" is not a known key');
  });
});

describe('access', () => {
  it('is looked at again at every call: who became a viewer writes no more', async () => {
    const grace = await service.person('Grace');
    const place = { organization: ada.organizationId, role: 'guest', workspace: workspace_id };
    await service.join(grace, { ...place, workspaceRole: 'editor' });
    let lowered = () => {};
    const after = new Promise<void>(resolve => {
      lowered = resolve;
    });
    model.reply([
      { tool: { name: 'write_file', input: { path: 'before.txt', content: 'yes' } } },
      { tool: { name: 'write_file', input: { path: 'after.txt', content: 'no' } }, after },
      { tools: [bash('touch after.txt'), { name: 'read_file', input: { path: 'before.txt' } }] },
      { text: 'Understood.' },
    ]);
    const asGrace = new AgentClient(grace.client);
    const sent = await asGrace.send('go', { workspace_id });
    await asGrace.until(sent, ({ event }) => event === 'tool.finished');
    await service.join(grace, { ...place, workspaceRole: 'viewer' });
    lowered();
    const { result } = await asGrace.ended(sent);
    expect(result.toolOutputs.map(({ is_error }: Json) => is_error)).toEqual([false, true, true, false]);
    expect(result.toolOutputs[1].output).toContain('Requires the editor role');
    expect(existsSync(inWorkspace('after.txt'))).toBe(false);
  });
});

describe('what a model does wrong', () => {
  it.each([
    [
      'arguments that are no JSON',
      '{"command": "ec',
      'The arguments must be one JSON object. They were: {"command": "ec',
    ],
    ['arguments that are no object', '[1]', 'The arguments must be one JSON object. They were: [1]'],
    [
      'a missing argument',
      '{}',
      'command is required; the fields of bash are command (required), timeout_seconds',
    ],
    ['an unknown argument', '{"command":"true","sudo":true}', 'sudo is not a field of this request'],
    ['a wrong type', '{"command":7}', 'command must'],
  ])('is told to it, and the run goes on: %s', async (_, input, answer) => {
    const from = model.requests.length;
    model.reply([{ tool: { name: 'bash', input } }, { text: 'Sorry.' }]);
    const run = await agent.run('go', { workspace_id });
    expect(run.result).toMatchObject({ response: 'Sorry.', toolOutputs: [{ tool: 'bash', is_error: true }] });
    expect(told(from + 1)[0]).toContain(answer);
  });

  it('is told to it for a tool that is not there', async () => {
    const from = model.requests.length;
    model.reply([{ tools: [{ name: 'rm_rf', input: {} }, bash('echo still here')] }, { text: 'Sorry.' }]);
    const run = await agent.run('go', { workspace_id });
    expect(told(from + 1)).toEqual([
      expect.stringContaining('There is no tool rm_rf; there are bash'),
      'still here',
    ]);
    expect(run.status).toBe('completed');
  });

  it('does not keep it from paths that are not there, or lead outside', async () => {
    const paths = ['nowhere.txt', '../../secret', '/etc/passwd'];
    model.reply([
      { tools: paths.map(file => ({ name: 'read_file', input: { path: file } })) },
      { text: 'No.' },
    ]);
    const { result } = await agent.run('go', { workspace_id });
    expect(result.toolOutputs.map(({ is_error }: Json) => is_error)).toEqual([true, true, true]);
  });
});

describe('calls of one step', () => {
  const read = (file: string) => ({ name: 'read_file', input: { path: file } });
  const write = (file: string, content: string) => ({ name: 'write_file', input: { path: file, content } });

  /** A run that ends when `end` is called, and a call that reads and ends with it. */
  async function untilEnd() {
    const { promise, resolve } = Promise.withResolvers<void>();
    const from = model.requests.length;
    model.reply({ text: 'Ended.', after: promise });
    const other = await agent.send('wait', { workspace_id });
    await model.received(from + 1);
    const input = { name: 'run_status_get', input: { call_id: other.call_id, wait: 60 } };
    return { end: resolve, call: { name: 'actions_run', id: 'long', input } };
  }

  it('that only read are made at the same time; those that write, in their order', async () => {
    const { end, call } = await untilEnd();
    const named = (id: string, one: Json) => ({ ...one, id }) as never;
    model.reply([
      {
        tools: [
          named('w1', write('order.txt', 'one')),
          call,
          named('r1', read('order.txt')),
          named('r2', read('order.txt')),
          named('w2', write('order.txt', 'two')),
          named('r3', read('order.txt')),
        ],
      },
      { text: 'Read.' },
    ]);
    const sent = await agent.send('go', { workspace_id });
    const finished = new Set<string>();
    // One after the other, the long one would have to end before these.
    await agent.until(sent, ({ event, data }) => {
      if (event === 'tool.finished') finished.add(data.id);
      return finished.has('r1') && finished.has('r2');
    });
    expect([...finished]).not.toContain('long');
    end();
    const { result } = await agent.ended(sent);
    expect(result.toolOutputs.map(({ id, is_error }: Json) => [id, is_error])).toEqual(
      ['w1', 'long', 'r1', 'r2', 'w2', 'r3'].map(id => [id, false]),
    );
    expect(result.toolOutputs[2].output).toBe('1\tone');
    expect(result.toolOutputs[5].output).toBe('1\ttwo');
    const events = await agent.events(sent);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
    const at = (kind: string, id: string) =>
      events.findIndex(({ event, data }) => event === kind && data.id === id);
    for (const id of ['long', 'r1', 'r2']) {
      expect(at('tool.started', id)).toBeGreaterThan(at('tool.finished', 'w1'));
      expect(at('tool.finished', id)).toBeLessThan(at('tool.started', 'w2'));
    }
    expect(at('tool.started', 'r3')).toBeGreaterThan(at('tool.finished', 'w2'));
  });

  it('are offered with lean schemas, and take what these leave out', async () => {
    model.reply([
      { tool: { name: 'list_files', input: { path: null, tree: false, limit: 1 } } },
      { text: 'Listed.' },
    ]);
    const { result } = await agent.run('go', { workspace_id });
    expect(result.toolOutputs).toMatchObject([{ is_error: false }]);
    const offered = (model.requests.at(-1)?.body.tools ?? []) as Json[];
    const schemas = JSON.stringify(offered);
    expect(schemas).not.toMatch(/"null"|maxLength|additionalProperties|"cursor"/);
    // They are sent with every request.
    expect(schemas.length).toBeLessThan(5_700);
    const names = offered.map(({ function: { name } }) => name);
    expect(names).toEqual(expect.arrayContaining(['bash', 'read_file', 'multi_edit', 'plan', 'actions_run']));
    expect(names).not.toContain('web_fetch');
    const { body } = await agent.client.get(`/api/workspaces/${workspace_id}/tools`);
    for (const { function: tool } of offered) {
      const listed = body.items.find(({ name }: Json) => name === tool.name).input_schema;
      expect(Object.keys(listed.properties)).toEqual(
        expect.arrayContaining(Object.keys(tool.parameters.properties)),
      );
      for (const field of listed.required) expect(tool.parameters.properties).toHaveProperty(field);
    }
  });

  it('are made eight at a time at most, in their order', async () => {
    const { end, call } = await untilEnd();
    const long = Array.from({ length: 8 }, (_, n) => ({ ...call, id: `long${n}` }));
    model.reply([{ tools: [...long, { ...read('order.txt'), id: 'ninth' }] }, { text: 'Read.' }]);
    const sent = await agent.send('go', { workspace_id });
    const started = new Set<string>();
    await agent.until(sent, ({ event, data }) => {
      if (event === 'tool.started') started.add(data.id);
      return started.size === 8;
    });
    expect([...started].toSorted()).toEqual(long.map(({ id }) => id));
    end();
    const { result } = await agent.ended(sent);
    const ids = [...long.map(({ id }) => id), 'ninth'];
    expect(result.toolOutputs.map(({ id, is_error }: Json) => [id, is_error])).toEqual(
      ids.map(id => [id, false]),
    );
    const events = await agent.events(sent);
    const ninth = events.findIndex(({ event, data }) => event === 'tool.started' && data.id === 'ninth');
    const ended = events.findLastIndex(({ event, data }) => event === 'tool.finished' && data.id !== 'ninth');
    expect(ninth).toBeGreaterThan(ended);
    const results = messagesOf(model.requests.at(-1) ?? { body: {} }).filter(
      ({ role }: Json) => role === 'tool',
    );
    expect(results.map(({ tool_call_id }: Json) => tool_call_id)).toEqual(ids);
  });

  it('end together with the run that is stopped', async () => {
    const { end, call } = await untilEnd();
    model.reply([{ tools: [call, { ...read('order.txt'), id: 'r1' }] }, { text: 'Never said.' }]);
    const sent = await agent.send('go', { workspace_id });
    await agent.until(sent, ({ event }) => event === 'tool.finished');
    await ada.client.post('/api/agent/stop', { call_id: sent.call_id });
    const { stop_reason, result } = await agent.ended(sent);
    model.clear();
    expect(stop_reason).toBe('stopped');
    expect(result.toolOutputs.map(({ id, is_error }: Json) => [id, is_error])).toEqual([
      ['long', true],
      ['r1', false],
    ]);
    end();
  });

  it('are not asked about while others of them only read', async () => {
    const policy = `/api/workspaces/${workspace_id}/approval-policy`;
    await ada.client.patch(policy, { write: 'ask' });
    model.reply([
      { tools: [read('order.txt'), read('order.txt'), write('asked.txt', 'x'), read('asked.txt')] },
      { text: 'Done.' },
    ]);
    const sent = await agent.send('go', { workspace_id, on_approval: 'wait' });
    const { data } = await agent.until(sent, ({ event }) => event === 'approval.requested');
    await ada.client.post(`/api/agent/approvals/${data.approval_id}`, { decision: 'allow' });
    const { result } = await agent.ended(sent);
    expect(result.toolOutputs.map(({ output }: Json) => output)).toEqual([
      '1\ttwo',
      '1\ttwo',
      expect.stringContaining('asked.txt'),
      '1\tx',
    ]);
    await ada.client.patch(policy, { write: 'auto' });
  });
});

describe('a plan', () => {
  const plan = (items: Json[]) => ({ name: 'plan', input: { items } });
  const step = (title: string, status = 'pending', id?: string) => ({ title, status, ...(id && { id }) });

  it('is shown with the run and its chat, as it was last set, and told to its watchers', async () => {
    const from = model.requests.length;
    model.reply([
      { tool: { ...plan([step('Look', 'in_progress'), step('Write')]), id: 'p1' } },
      {
        tool: {
          ...plan([step('Look', 'completed', '1'), step('Check'), step('Write', 'pending', '2')]),
          id: 'p2',
        },
      },
      { text: 'Done.' },
    ]);
    const sent = await agent.send('go', { workspace_id });
    const { status, plan: kept } = await agent.ended(sent);
    const items = [
      { id: '1', title: 'Look', status: 'completed' },
      { id: '3', title: 'Check', status: 'pending' },
      { id: '2', title: 'Write', status: 'pending' },
    ];
    expect([status, kept.call_id, kept.items]).toEqual(['completed', sent.call_id, items]);
    const updates = (await agent.events(sent)).filter(({ event }) => event === 'plan.updated');
    expect(updates.map(({ data }) => data)).toEqual([
      {
        id: 'p1',
        items: [
          { id: '1', title: 'Look', status: 'in_progress' },
          { id: '2', title: 'Write', status: 'pending' },
        ],
      },
      { id: 'p2', items },
    ]);
    expect(told(from + 2).at(-1)).toBe('Plan, 1 of 3 done:\n[x] 1: Look\n[ ] 3: Check\n[ ] 2: Write');
    const record = await ada.client.get(`/api/agent/runs/${sent.call_id}`);
    expect(record.body.plan).toEqual(kept);
    model.reply({ text: 'No plan of its own.' });
    const next = await agent.run('on', { chat_id: sent.chat_id });
    expect(next.plan).toBeNull();
    expect((await ada.client.get(`/api/chats/${sent.chat_id}`)).body.plan).toEqual(kept);
  });

  it.each([
    [
      'two steps at once',
      [step('a', 'in_progress'), step('b', 'in_progress')],
      /^items: 2 steps are in_progress/,
    ],
    ['an id twice', [step('a', 'pending', '1'), step('b', 'pending', '1')], /^items: the id 1 comes twice$/],
    ['another status', [step('a', 'done')], /^items\[0\]\.status must be one of/],
    ['no title', [step(' ')], /^items\[0\]\.title/],
    [
      'too many',
      Array.from({ length: 51 }, () => step('a')),
      /^items must contain no more than 50 elements$/,
    ],
    ['more than is asked for', [{ ...step('a'), due: 'soon' }], /^items\[0\]\.due is not a field/],
  ])('is refused with %s, and stays as it was', async (_, items, answer) => {
    const from = model.requests.length;
    model.reply([{ tool: plan([step('Kept')]) }, { tool: plan(items as Json[]) }, { text: 'Done.' }]);
    const run = await agent.run('go', { workspace_id });
    expect(told(from + 2).at(-1)).toMatch(answer);
    expect(run.plan.items).toEqual([{ id: '1', title: 'Kept', status: 'pending' }]);
  });

  it('is for agents whose list names it', async () => {
    const place = define('planner', '---\ntools: [plan]\n---\nPlan.');
    const from = model.requests.length;
    model.reply({ text: 'Yes.' });
    await agent.run('go', place);
    const offered = model.requests[from]?.body.tools as Json[];
    expect(offered.map(tool => tool.function.name)).toEqual(['plan']);
  });
});

describe('output', () => {
  it('may hold NUL bytes and broken UTF-8', async () => {
    const from = model.requests.length;
    model.reply([{ tool: bash(String.raw`printf 'a\0b\xff\xfec'`) }, { text: 'Odd \u0000 text.' }]);
    const sent = await agent.send('go', { workspace_id });
    const run = await agent.ended(sent);
    expect(run).toMatchObject({ status: 'completed', result: { response: 'Odd \ufffd text.' } });
    expect(run.result.toolOutputs[0].output).toBe('a\ufffdb\ufffd\ufffdc');
    expect(told(from + 1)).toEqual(['a\ufffdb\ufffd\ufffdc']);
    expect((await agent.events(sent)).at(-1)?.data.response).toBe('Odd \ufffd text.');
  });

  it('arrives while the command runs', async () => {
    model.reply([
      { tool: bash('echo first; until [ -e go ]; do sleep 0.05; done; echo last') },
      { text: 'Done.' },
    ]);
    const sent = await agent.send('go', { workspace_id });
    const { data } = await agent.until(sent, ({ event }) => event === 'tool.output');
    expect(data.text).toBe('first\n');
    writeFileSync(inWorkspace('go'), '');
    const { result } = await agent.ended(sent);
    expect(result.toolOutputs[0].output).toBe('first\nlast');
  });

  it('is cut in the middle where it is too long for a model', async () => {
    const from = model.requests.length;
    model.reply([{ tool: bash('seq 1 100000') }, { text: 'Long.' }]);
    const sent = await agent.send('go', { workspace_id });
    expect((await agent.ended(sent)).status).toBe('completed');
    const [output = ''] = told(from + 1);
    expect(output.length).toBeLessThan(51_000);
    expect(output).toContain('characters left out');
    expect(output.trimEnd().endsWith('100000')).toBe(true);
  });

  it('is kept to the last byte for who watches', async () => {
    model.reply([{ tool: bash('seq 1 20000') }, { text: 'Done.' }]);
    const sent = await agent.send('go', { workspace_id });
    const events = await agent.events(sent);
    const text = events.filter(({ event }) => event === 'tool.output').map(({ data }) => data.text);
    expect(text.join('')).toBe(Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join(''));
  });

  it('names the files that changed', async () => {
    model.reply([
      { tool: { name: 'write_file', input: { path: 'n.txt', content: 'n' } } },
      { text: 'Done.' },
    ]);
    const events = await agent.events(await agent.send('go', { workspace_id }));
    const changed = events.filter(({ event }) => event === 'file.changed').map(({ data }) => data.path);
    expect(changed).toEqual(['n.txt']);
  });
});

describe('Anthropic', () => {
  it('calls tools, and gets its signed thoughts back', async () => {
    claude.reply([
      {
        reasoning: 'I look.',
        signature: 'sig',
        text: 'Looking.',
        tool: { ...bash('echo 42'), id: 'toolu_1' },
      },
      { text: 'It is 42.' },
    ]);
    const run = await agent.run('go', { workspace_id, model: 'anthropic/claude-haiku-4-5' });
    expect(run.result).toMatchObject({
      response: 'It is 42.',
      toolOutputs: [{ id: 'toolu_1', tool: 'bash', input: { command: 'echo 42' }, output: '42' }],
    });
    expect(run.cost_usd).toBeGreaterThan(0);
    const [, assistant, result] = (claude.requests[1]?.body.messages ?? []) as Json[];
    expect(assistant.content).toMatchObject([
      { type: 'thinking', thinking: 'I look.', signature: 'sig' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'echo 42' } },
    ]);
    expect(result.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'toolu_1' }]);
  });

  it('takes over a chat in which another model called tools', async () => {
    model.reply([{ reasoning: 'Hm.', tool: { ...bash('echo 7'), id: 'c7' } }, { text: 'Seven.' }]);
    const { chat_id } = await agent.run('go', { workspace_id });
    const from = claude.requests.length;
    claude.reply({ text: 'Still seven.' });
    const run = await agent.run('sure?', { chat_id, model: 'anthropic/claude-haiku-4-5' });
    expect(run.result.response).toBe('Still seven.');
    const kinds = ((claude.requests[from]?.body.messages ?? []) as Json[]).map(({ role }) => role);
    expect(kinds).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  });
});

/** Resolves when no command of a run is left: sandboxes end a moment after the run has. */
async function sandboxesEnded(): Promise<void> {
  const left = async () => (await ada.client.get(`/api/workspaces/${workspace_id}/sandboxes`)).body.items;
  while ((await left()).length > 0) await sleep(20);
}

describe('the shell of a run', () => {
  /** Runs these commands one after the other; resolves with what the model was told of each. */
  async function outputs(...commands: string[]): Promise<string[]> {
    const from = model.requests.length;
    model.reply([...commands.map(command => ({ tool: bash(command) })), { text: 'Done.' }]);
    await agent.run('go', { workspace_id });
    return told(from + commands.length);
  }

  it('keeps folder, variables and background processes between its calls, and ends with the run', async () => {
    const said = await outputs(
      'mkdir -p deep; cd deep; export WORD=kept; (while sleep 0.05; do echo beat >> ../beat; done) & echo begun',
      'until [ -s ../beat ]; do sleep 0.02; done; pwd; echo $WORD; exit 3',
      'set -e; echo $WORD; head -1 ../beat; jobs',
    );
    expect(said).toEqual([
      'begun\nWorking directory: /workspace/deep',
      '/workspace/deep\nkept\nExit code 3.',
      'kept\nbeat',
    ]);
    await sandboxesEnded();
    const beats = readFileSync(inWorkspace('beat'), 'utf8').trim().split('\n').length;
    expect(await outputs('sleep 0.2; pwd; echo [$WORD]; wc -l < beat')).toEqual([`/workspace\n[]\n${beats}`]);
  });

  it('is told to the model when it was killed, and begins anew', async () => {
    const [first, second] = await outputs('cd /tmp; echo here; kill -KILL -1; sleep 5', 'pwd');
    expect(first).toMatch(/^here\nThe sandbox was killed, perhaps by a command in it; with the next command/);
    expect(second).toBe('/workspace');
    const [, later] = await outputs(
      '(until [ -e die ]; do sleep 0.02; done; kill -KILL -1) & echo here',
      'touch die; sleep 100; echo no',
      'rm die; pwd',
    );
    expect(later).toMatch(/The sandbox was killed/);
  });

  it('is listed while the run lasts, and ended by a stop', async () => {
    await sandboxesEnded();
    model.reply([{ tool: bash('sleep 600 & echo begun; sleep 600') }, { text: 'Never said.' }]);
    const sent = await agent.send('go', { workspace_id });
    await agent.until(sent, ({ event, data }) => event === 'tool.output' && data.text.includes('begun'));
    const listed = await ada.client.get(`/api/workspaces/${workspace_id}/sandboxes`);
    expect(listed.body.items).toEqual([
      expect.objectContaining({ kind: 'session', caller: { kind: 'run', id: sent.call_id } }),
    ]);
    expect(listed.body.items[0].memory_bytes).toBeGreaterThan(0);
    expect(listed.body.items[0].processes).toBeGreaterThan(2);
    await ada.client.post('/api/agent/stop', { call_id: sent.call_id });
    expect((await agent.ended(sent)).stop_reason).toBe('stopped');
    await sandboxesEnded();
  });
});

describe('a command in the background', () => {
  beforeEach(() => model.clear());
  const start = (command: string, id = 'start') => ({
    name: 'bash',
    id,
    input: { command, run_in_background: true },
  });
  const output = (id: string, filter?: string) => ({
    name: 'bash_output',
    input: { id, ...(filter !== undefined && { filter }) },
  });
  const kill = (id: string) => ({ name: 'bash_kill', input: { id } });

  /** Makes these calls, each in a step of its own; resolves with what the model was told of each. */
  async function outputs(...calls: Json[]): Promise<string[]> {
    const from = model.requests.length;
    model.reply([...calls.map(tool => ({ tool: tool as never })), { text: 'Done.' }]);
    await agent.run('go', { workspace_id });
    return told(from + calls.length);
  }

  it('goes on between calls, gives what is new once, and its exit code when it has ended', async () => {
    const until = (file: string) => `until [ -e ${file} ]; do sleep 0.02; done`;
    const said = await outputs(
      bash('mkdir -p side; cd side; WORD=kept; say() { echo "said $1"; }'),
      start(`say $WORD; pwd; ${until('go-on')}; echo second; exit 7`),
      bash(
        until('/workspace/.atelier/output/*/bash-c1.txt') +
          '; until grep -q side /workspace/.atelier/output/*/bash-c1.txt; do sleep 0.02; done',
      ),
      output('c1'),
      output('c1'),
      bash('touch go-on; pwd'),
      bash('until [ -s /tmp/tmp.*/end ]; do sleep 0.02; done'),
      output('c1'),
      output('c1'),
      kill('c1'),
      bash('rm go-on'),
    );
    expect(said[1]).toMatch(
      /^c1 runs in the background until .* What it writes is in \.atelier\/output\/[\w-]+\/bash-c1\.txt; bash_output/,
    );
    expect(said[3]).toMatch(/^said kept\n\/workspace\/side\nc1 is running, for \d+ s by now\.$/);
    expect(said[4]).toMatch(/^\(no new output\)\nc1 is running/);
    expect(said[5]).toBe('/workspace/side');
    expect(said[7]).toMatch(/^second\nc1 has ended: exit code 7, after \d+ s\.$/);
    expect(said[8]).toMatch(/^\(no new output\)\nc1 has ended: exit code 7/);
    expect(said[9]).toMatch(/c1 has ended: exit code 7/);
    const file = /\.atelier\/output\/\S+\.txt/.exec(said[1] ?? '')?.[0] ?? '';
    expect(readFileSync(inWorkspace(file), 'utf8')).toBe('said kept\n/workspace/side\nsecond\n');
  });

  it('is ended with all that it started, by bash_kill', async () => {
    const said = await outputs(
      start('trap "" TERM; (while sleep 0.05; do date +%N > alive; done) & echo up; wait'),
      bash('until [ -s alive ]; do sleep 0.02; done'),
      kill('c1'),
      bash('rm alive; sleep 0.3; ls alive'),
      output('c1'),
    );
    expect(said[2]).toMatch(/^up\nc1 was killed\.$/);
    expect(said[3]).toContain('Exit code 2.');
    expect(said[4]).toMatch(/^\(no new output\)\nc1 was killed\.$/);
  });

  it('shows chosen lines, the last of much, and never half a line', async () => {
    const said = await outputs(
      start(
        'seq 1 200000; printf "error: half"; until [ -e go-on ]; do sleep 0.02; done; echo " and the rest"',
      ),
      bash('until grep -q "error: half" .atelier/output/*/bash-c1.txt; do sleep 0.02; done'),
      output('c1', '^19999.$|half'),
      output('c1', '['),
      bash('touch go-on; until [ -s /tmp/tmp.*/end ]; do sleep 0.02; done; rm go-on'),
      output('c1', 'half'),
      start('seq 1 200000', 'again'),
      bash('until [ $(cat /tmp/tmp.*/end | wc -l) = 2 ]; do sleep 0.02; done'),
      output('c2'),
    );
    const lines = Array.from({ length: 10 }, (_, digit) => `19999${digit}`).join('\n');
    expect(said[2]).toMatch(new RegExp(`^\\(Of \\d+ new bytes, the last.*\\)\n${lines}\nc1 is running`));
    expect(said[3]).toBe('filter is no regular expression that grep -E takes');
    expect(said[5]).toMatch(/^error: half and the rest\nc1 has ended: exit code 0/);
    expect(said[8]).toMatch(/^\(Of 1288895 new bytes, the last; all of them are in /);
    expect(said[8]).toMatch(/\n200000\nc2 has ended: exit code 0/);
    expect(said[8]?.length).toBeLessThan(34_000);
  });

  it('is refused with a limit of time, beside eight others, and by an id that is none', async () => {
    const from = model.requests.length;
    const many = Array.from({ length: 9 }, (_, index) => start('sleep 600', `s${index}`));
    model.reply([
      { tools: many },
      {
        tools: [
          { ...start('true'), input: { command: 'true', run_in_background: true, timeout_seconds: 5 } },
          output('c77'),
        ],
      },
      { text: 'Done.' },
    ]);
    await agent.run('go', { workspace_id });
    const said = told(from + 2);
    expect(said.slice(0, 8).every((text, index) => text.startsWith(`c${index + 1} runs`))).toBe(true);
    expect(said[8]).toBe(
      '8 commands run in the background already (c1, c2, c3, c4, c5, c6, c7, c8); end one with bash_kill',
    );
    expect(said[9]).toContain('timeout_seconds is not for run_in_background');
    expect(said[10]).toBe('No command c77 was started here; there are c1, c2, c3, c4, c5, c6, c7, c8');
  });

  it('ends when its run waits for a person, which the model is told', async () => {
    const policy = `/api/workspaces/${workspace_id}/approval-policy`;
    await ada.client.patch(policy, { destructive: 'ask' });
    const from = model.requests.length;
    model.reply([
      { tool: start('echo begun; while sleep 0.05; do date +%N > beat; done') },
      { tool: bash('until [ -s beat ]; do sleep 0.02; done') },
      { tool: { name: 'actions_run', input: { name: 'file_delete', input: { path: 'beat' } } } },
      { tool: output('c1') },
      { tool: start('true') },
      { text: 'Done.' },
    ]);
    const sent = await agent.send('go', { workspace_id, on_approval: 'wait' });
    const { data } = await agent.until(sent, ({ event }) => event === 'approval.requested');
    await sandboxesEnded();
    await ada.client.post(`/api/agent/approvals/${data.approval_id}`, { decision: 'allow' });
    await agent.ended(sent);
    const said = told(from + 5);
    expect(said[3]).toMatch(
      /^The command c1 ended with the sandbox of this run when the run was interrupted or waited/,
    );
    expect(said[4]).toContain('c2 runs in the background');
    expect(existsSync(inWorkspace('beat'))).toBe(false);
  });

  it('ends with its run', async () => {
    await outputs(
      start('while sleep 0.05; do date +%N > beat; done'),
      bash('until [ -s beat ]; do sleep 0.02; done'),
    );
    await sandboxesEnded();
    const [said] = await outputs(bash('rm beat; sleep 0.3; ls beat'));
    expect(said).toContain('Exit code 2.');
  });
});
