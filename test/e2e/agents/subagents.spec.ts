import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../../fakes/openai-server.js';
import type { FakeReply } from '../../fakes/scripted-server.js';
import { AgentClient, type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import type { Json, StreamEvent } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';

let ground: AgentGround;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;

beforeAll(async () => {
  ground = await startAgents({ OPENAI_COMPATIBLE_MODELS: 'small,large', RUN_CONCURRENCY: '1' });
  ({ model, service, ada } = ground);
});
afterAll(() => ground.stop());

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);

/** A new workspace that holds these files. */
async function workspaceWith(files: Record<string, string | Buffer>): Promise<string> {
  const id = await service.workspace(ada);
  put(id, files);
  return id;
}

function put(workspace: string, files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folderOf(workspace), name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

const file = (...lines: string[]) => `---\n${lines.join('\n')}\n---\nDo it well.\n`;

describe('the agents of a workspace', () => {
  const listed = async (workspace: string) => {
    const { status, body } = await ada.client.get(`/api/workspaces/${workspace}/agents`);
    expect(status).toBe(200);
    return body;
  };
  const findingsOf = ({ items }: Json, name: string) =>
    items.find((item: Json) => item.path === name)?.findings;

  it('are none where there is no folder', async () => {
    expect(await listed(await service.workspace(ada))).toEqual({
      items: [],
      skills: [],
      instructions: null,
      findings: [],
    });
  });

  it('are listed with what they may use, skills and instructions beside them', async () => {
    const workspace = await workspaceWith({
      '.agents/reviewer.md': file('name: reviewer', 'description: Reviews texts', 'tools: [read_*, task]'),
      '.agents/agents/writer.md': file('description: Writes', 'model: local/large', 'max_steps: 7'),
      '.agents/skills/release-notes/SKILL.md': file('name: release-notes', 'description: Writes notes'),
      'AGENTS.md': 'Be brief.',
    });
    const body = await listed(workspace);
    expect(body.items).toMatchObject([
      { name: 'reviewer', path: '.agents/reviewer.md', tools: ['read_*', 'task'], valid: true, findings: [] },
      { name: 'writer', model: 'local/large', max_steps: 7, valid: true, findings: [] },
    ]);
    expect(body.skills).toMatchObject([{ name: 'release-notes', valid: true, findings: [] }]);
    expect(body.instructions).toEqual({ path: 'AGENTS.md', bytes: 9, truncated: false });
    expect(body.findings).toEqual([]);
  });

  it('are linted, with the line and what was probably meant', async () => {
    const workspace = await workspaceWith({
      '.agents/key.md': file('description: a', 'tool: bash'),
      '.agents/yaml.md': file('description: [a'),
      '.agents/pattern.md': file('description: a', 'tools: [bsh, "read_*", "action:file_delet"]'),
      '.agents/model.md': file('description: a', 'model: nobody/nothing'),
      '.agents/one.md': file('name: twin', 'description: a'),
      '.agents/two.md': file('name: twin', 'description: a'),
      '.agents/large.md': `${file('description: a')}${'x'.repeat(65_536)}`,
      '.agents/latin.md': Buffer.from([0xe4, 0xf6, 0xfc]),
      '.agents/skills/other/SKILL.md': file('description: a', 'name: Other'),
      '.agents/skills/empty/README.md': '',
    });
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), '.agents/link.md'));
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'AGENTS.md'));
    const body = await listed(workspace);
    expect(findingsOf(body, '.agents/key.md')).toMatchObject([
      { file: '.agents/key.md', line: 3, severity: 'error', suggestion: 'Did you mean "tools"?' },
    ]);
    expect(findingsOf(body, '.agents/yaml.md')).toMatchObject([{ severity: 'error' }, {}]);
    expect(findingsOf(body, '.agents/pattern.md')).toMatchObject([
      { severity: 'warning', message: 'tools: no tool is called "bsh"', suggestion: 'Did you mean "bash"?' },
      { severity: 'warning', suggestion: 'Did you mean "action:file_delete"?' },
    ]);
    expect(findingsOf(body, '.agents/model.md')).toMatchObject([
      { severity: 'error', message: expect.stringMatching(/no model "nobody\/nothing"/) },
    ]);
    expect(findingsOf(body, '.agents/two.md').at(-1)).toMatchObject({
      severity: 'error',
      message: '.agents/one.md defines the agent "twin" already',
    });
    expect(findingsOf(body, '.agents/large.md')).toMatchObject([
      { message: expect.stringMatching(/65,?\d+ bytes/) },
    ]);
    expect(findingsOf(body, '.agents/latin.md')).toMatchObject([{ severity: 'error' }]);
    expect(findingsOf(body, '.agents/link.md')).toMatchObject([{ message: expect.stringMatching(/links/) }]);
    expect(body.skills).toMatchObject([
      { name: 'empty', valid: false },
      { name: 'Other', valid: false },
    ]);
    expect(body.findings).toMatchObject([{ message: expect.stringMatching(/AGENTS.md is not read/) }]);
    expect(body.instructions).toBeNull();
    const invalid = body.items.filter((item: Json) => !item.valid).map(({ path: its }: Json) => its);
    expect(invalid).toEqual(
      ['key', 'large', 'latin', 'link', 'model', 'two', 'yaml'].map(name => `.agents/${name}.md`),
    );
  });

  it('are read anew when a file changes, also in place and in the same instant', async () => {
    const workspace = await workspaceWith({ '.agents/a.md': file('description: one') });
    execFileSync('touch', ['-d', '2020-01-01', path.join(folderOf(workspace), '.agents/a.md')]);
    expect((await listed(workspace)).items).toMatchObject([{ description: 'one' }]);
    for (const description of ['two', 'six', 'ten']) {
      put(workspace, { '.agents/a.md': file(`description: ${description}`) });
      expect((await listed(workspace)).items).toMatchObject([{ description }]);
    }
  });
});

describe('the tools of an agent', () => {
  it('are told with what allows or forbids each', async () => {
    const workspace = await workspaceWith({
      '.agents/reader.md': file('description: Reads'),
      '.agents/all.md': file('description: Does it', 'tools: ["*_file", task, "action:chat_list"]'),
      '.agents/skills/notes/SKILL.md': file('name: notes', 'description: Writes notes'),
    });
    const toolsOf = async (agent: string) => {
      const { status, body } = await ada.client.get(`/api/workspaces/${workspace}/tools?agent_name=${agent}`);
      expect(status).toBe(200);
      return Object.fromEntries(
        body.items.map(({ name, available, allowed_by }: Json) => [name, available && allowed_by]),
      );
    };
    expect(await toolsOf('reader')).toMatchObject({
      read_file: 'read_file',
      skill: 'skill',
      bash: false,
      task: false,
      actions_run: false,
    });
    expect(await toolsOf('all')).toMatchObject({
      read_file: '*_file',
      bash: false,
      task: 'task',
      skill: false,
      actions_run: 'action:chat_list',
    });
    expect((await ada.client.get(`/api/workspaces/${workspace}/tools?agent_name=nobody`)).status).toBe(404);
    const { body } = await ada.client.get(`/api/workspaces/${workspace}/tools`);
    expect(body.items.filter((tool: Json) => !tool.available)).toEqual([]);
  });
});

describe('a task', () => {
  let workspace: string;
  let agent: AgentClient;

  beforeAll(async () => {
    agent = new AgentClient(ada.client);
    workspace = await workspaceWith({
      'AGENTS.md': 'Speak plainly.',
      'notes/plan.md': 'Launch on Monday.\n',
      '.agents/reader.md': file('description: Reads', 'model: local/large'),
      '.agents/writer.md': file(
        'description: Writes',
        'tools: [write_file, read_file, task]',
        'max_steps: 3',
      ),
      '.agents/lead.md': file('description: Leads', 'tools: [task, read_file]'),
      '.agents/all.md': file('description: Does all', 'tools: ["*"]'),
    });
  });

  const task = (name: string, prompt: string, more: Json = {}) => ({
    name: 'task',
    input: { agent: name, prompt, ...more },
  });
  /** Answers by what a conversation began with; the system prompt comes before it. */
  const answer = (replies: Record<string, (messages: Json[]) => FakeReply>) =>
    model.otherwise(request => {
      const messages = messagesOf(request);
      const reply = replies[messages[1].content];
      return reply ? reply(messages) : { text: 'Nothing to do.' };
    });
  const isFirst = (messages: Json[]) => messages.length === 2;
  const lastOf = (messages: Json[]) => messages.at(-1).content;
  const run = (fields: Json = {}) =>
    agent.run('go', { workspace_id: workspace, model: 'local/small', ...fields });
  const record = async (id: string) => (await ada.client.get(`/api/agent/runs/${id}`)).body;

  /** What the task two levels below a run asks people, when it has asked so much. */
  const askedBelow = async (run: Json, count: number) => {
    const handsOver = ({ event, data }: StreamEvent) => event === 'tool.output' && data.task_call_id;
    const above = await agent.until(run, e => handsOver(e) && e.data.text.startsWith('all'));
    const lowest = await agent.until({ call_id: above.data.task_call_id }, handsOver);
    let left = count;
    const events = await ada.client.events(`/api/agent/runs/${lowest.data.task_call_id}/events`, {
      until: ({ event }) => event === 'approval.requested' && --left === 0,
    });
    return events.filter(({ event }) => event === 'approval.requested');
  };

  it('is worked on by itself, and its answer is the result of the call', async () => {
    answer({
      go: messages =>
        isFirst(messages)
          ? {
              text: 'Let us see.',
              tool: task('reader', 'What is the plan?', { description: 'Read the plan' }),
            }
          : { text: `It says: ${lastOf(messages)}` },
      'What is the plan?': messages =>
        isFirst(messages)
          ? { tool: { name: 'read_file', input: { path: 'notes/plan.md' } } }
          : { text: 'Monday.' },
    });
    const from = model.requests.length;
    const ended = await run();
    expect(ended).toMatchObject({ status: 'completed', result: { response: 'It says: Monday.' } });
    const [first, second] = model.requests.slice(from);
    const [offered] = ((first?.body.tools ?? []) as Json[]).filter(tool => tool.function.name === 'task');
    expect(offered?.function.description).toContain('- reader: Reads');
    expect(second?.body.model).toBe('large');
    expect(messagesOf(second ?? { body: {} })).toMatchObject([
      { role: 'system', content: expect.stringMatching(/^You are the agent "reader"[\s\S]*Speak plainly\./) },
      { role: 'user', content: 'What is the plan?' },
    ]);

    const whole = await record(ended.call_id);
    expect(whole).toMatchObject({ parent_call_id: null, total_steps: 4 });
    expect(whole.tasks).toMatchObject([
      {
        agent_name: 'reader',
        description: 'Read the plan',
        tool_call_id: whole.result.toolOutputs[0].id,
        status: 'completed',
        model: 'local/large',
        step_count: 2,
      },
    ]);
    const [{ call_id, chat_id }] = whole.tasks;
    expect(await record(call_id)).toMatchObject({
      parent_call_id: ended.call_id,
      agent_name: 'reader',
      tasks: [],
    });
    const listed = await ada.client.get(`/api/agent/runs?workspace_id=${workspace}`);
    expect(listed.body.items.find((item: Json) => item.call_id === call_id)).toMatchObject({
      parent_call_id: ended.call_id,
    });
    const ofParent = await ada.client.get(`/api/agent/runs?parent_call_id=${ended.call_id}`);
    expect(ofParent.body.items.map((item: Json) => item.call_id)).toEqual([call_id]);

    const events = await agent.events(ended);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    const about = events.filter(({ event }) => event.startsWith('tool.'));
    expect(about).toMatchObject([
      { event: 'tool.started', data: { tool: 'task' } },
      { event: 'tool.output', data: { text: 'reader: Read the plan\n', task_call_id: call_id } },
      { event: 'tool.finished', data: { output: 'Monday.', is_error: false } },
    ]);
    expect((await agent.events({ call_id })).at(-1)).toMatchObject({ event: 'run.completed' });

    const chats = await ada.client.get(`/api/chats?workspace_id=${workspace}`);
    expect(chats.body.items.map((chat: Json) => chat.id)).not.toContain(chat_id);
    expect((await ada.client.get(`/api/chats/${chat_id}`)).body).toMatchObject({
      title: 'Read the plan',
      parent_call_id: ended.call_id,
    });
    const more = await ada.client.post('/api/agent/message', { chat_id, message: 'more' });
    expect([more.status, more.body.detail]).toEqual([409, expect.stringMatching(/task/)]);
  });

  it('goes on at the same time as the others of its step', async () => {
    const met: (() => void)[] = [];
    const all = new Promise<void>(resolve => {
      let here = 0;
      met.push(() => {
        here++;
        if (here === 3) resolve();
      });
    });
    const wait = () => {
      met[0]?.();
      return { text: 'Met.', after: all };
    };
    answer({
      go: messages =>
        isFirst(messages)
          ? {
              tools: [
                task('reader', 'a'),
                { name: 'list_files', input: {} },
                task('reader', 'b'),
                task('all', 'c'),
              ],
            }
          : {
              text: messages
                .slice(3)
                .map(({ content }) => content.slice(0, 4))
                .join(),
            },
      a: wait,
      b: wait,
      c: wait,
    });
    const ended = await run();
    expect(ended.result.toolOutputs.map(({ output }: Json) => output.slice(0, 4))).toEqual([
      'Met.',
      expect.any(String),
      'Met.',
      'Met.',
    ]);
    expect(ended.result.response).toMatch(/^Met\.,.*,Met\.,Met\.$/);
  });

  it('may call what its file allows, and never more than those above it', async () => {
    const write = { name: 'write_file', input: { path: 'out.md', content: 'x' } };
    answer({
      go: messages =>
        isFirst(messages) ? { tools: [task('reader', 'write'), task('all', 'write')] } : { text: 'ok' },
      write: messages => (isFirst(messages) ? { tool: write } : { text: lastOf(messages) }),
    });
    const [refused, done] = (await run()).result.toolOutputs;
    expect(refused.output).toMatch(
      /The agent reader may not call write_file; it may call list_files, read_file/,
    );
    expect(done.output).not.toMatch(/may not call/);

    answer({
      go: messages =>
        isFirst(messages) ? { tools: [task('all', 'write'), task('all', 'act')] } : { text: 'ok' },
      write: messages => (isFirst(messages) ? { tool: write } : { text: lastOf(messages) }),
      act: messages =>
        isFirst(messages)
          ? { tool: { name: 'actions_run', input: { name: 'workspace_get', input: {} } } }
          : { text: lastOf(messages) },
    });
    const from = model.requests.length;
    const below = (await run({ agent_name: 'lead' })).result.toolOutputs;
    expect(below[0].output).toMatch(/The agent all may not call write_file; it may call read_file, task/);
    expect(below[1].output).toMatch(/may not call actions_run/);
    const ofTask = model.requests.slice(from).find(request => messagesOf(request)[1].content === 'write');
    expect(ofTask?.body.tools).toMatchObject([
      { function: { name: 'read_file' } },
      { function: { name: 'task' } },
    ]);
  });

  it('is refused where it makes no sense, and the run goes on', async () => {
    const calls = [
      task('nobody', 'a'),
      task('reader', ' '),
      { name: 'task', input: { agent: 'reader' } },
      { name: 'task', input: 'broken' },
    ];
    answer({ go: messages => (isFirst(messages) ? { tools: calls } : { text: 'Fine.' }) });
    const ended = await run();
    expect(ended.result.response).toBe('Fine.');
    expect(ended.result.toolOutputs.map(({ is_error, output }: Json) => [is_error, output])).toEqual([
      [true, expect.stringMatching(/No agent "nobody"/)],
      [true, expect.stringMatching(/^prompt must not be blank/)],
      [true, expect.stringMatching(/^prompt/)],
      [true, expect.stringMatching(/one JSON object/)],
    ]);
    expect((await record(ended.call_id)).tasks).toEqual([]);
  });

  it('is handed on two levels deep at most', async () => {
    answer({
      go: messages => (isFirst(messages) ? { tool: task('all', 'one') } : { text: lastOf(messages) }),
      one: messages => (isFirst(messages) ? { tool: task('all', 'two') } : { text: lastOf(messages) }),
      two: messages => (isFirst(messages) ? { tool: task('all', 'three') } : { text: lastOf(messages) }),
    });
    const ended = await run();
    expect(ended.result.response).toMatch(/Tasks are handed on 2 levels deep at most/);
    expect((await record(ended.call_id)).total_steps).toBe(6);
  });

  it('tells when it fails or does not finish', async () => {
    const call = { tool: { name: 'read_file', input: { path: 'notes/plan.md' } } };
    answer({
      go: messages =>
        isFirst(messages) ? { tools: [task('reader', 'fail'), task('writer', 'dally')] } : { text: 'ok' },
      fail: () => ({ status: 401 }),
      dally: () => call,
    });
    const [failure, unfinished] = (await run()).result.toolOutputs;
    expect(failure).toMatchObject({
      is_error: true,
      output: expect.stringMatching(/^The agent reader failed: /),
    });
    expect(unfinished).toMatchObject({
      is_error: true,
      output: expect.stringMatching(/^The agent writer did not finish \(max_steps\)/),
    });
  });

  it('uses up the budget of the run above it', async () => {
    const call = { tool: { name: 'read_file', input: { path: 'notes/plan.md' } } };
    answer({
      go: messages =>
        isFirst(messages) ? { tools: [task('reader', 'dally'), task('all', 'dally')] } : { text: 'no' },
      dally: () => call,
    });
    const from = model.requests.length;
    const ended = await run({ budget: { max_steps: 7 } });
    expect(ended).toMatchObject({ status: 'completed', stop_reason: 'max_steps' });
    expect(model.requests.length - from).toBe(7);
    expect(ended.result.toolOutputs.map(({ output }: Json) => output)).toEqual([
      expect.stringMatching(/did not finish \(max_steps\).*the whole run’s limit of 7 steps/),
      expect.stringMatching(/did not finish \(max_steps\)/),
    ]);
    expect(await record(ended.call_id)).toMatchObject({ total_steps: 7 });

    answer({ go: () => ({ tool: task('reader', 'hang') }), hang: () => ({ hang: true }) });
    // Time enough for the task to begin, on a machine that is slow, too.
    const late = await run({ budget: { max_seconds: 8 } });
    expect(late).toMatchObject({ status: 'completed', stop_reason: 'max_seconds' });
    expect((await record(late.call_id)).tasks).toMatchObject([
      { status: 'completed', stop_reason: 'stopped' },
    ]);
  });

  it('ends with the run above it, at once, whatever it is doing', async () => {
    answer({
      go: () => ({ tools: [task('all', 'sleep'), task('reader', 'hang')] }),
      sleep: () => ({
        tool: { name: 'bash', input: { command: 'echo begun; sleep 300; echo late > late.txt' } },
      }),
      hang: () => ({ text: 'Half an answer', hangAfter: 1 }),
    });
    const sent = await agent.send('go', { workspace_id: workspace, model: 'local/small' });
    const tasksOf = async () => (await record(sent.call_id)).tasks;
    // They begin at the same time, in either order.
    for (const name of ['all', 'reader'])
      await agent.until(sent, ({ event, data }) => event === 'tool.output' && data.text.startsWith(name));
    const [sleeping, hanging] = await tasksOf();
    await agent.until(sleeping, ({ event }) => event === 'tool.output');
    await agent.until(hanging, ({ event }) => event === 'text.delta');
    const hungUp = model.hungUp(1);
    await ada.client.post('/api/agent/stop', { call_id: sent.call_id });
    await hungUp;
    expect(await agent.ended(sent)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    expect(await tasksOf()).toMatchObject([
      { status: 'completed', stop_reason: 'stopped' },
      { status: 'completed', stop_reason: 'stopped' },
    ]);
    expect((await ada.client.get(`/api/agent/status/${hanging.call_id}`)).body.result.response).toMatch(
      /^Half/,
    );
    answer({ 'go on': messages => ({ text: `${messages.length}` }) });
    expect((await agent.run('go on', { chat_id: sent.chat_id })).status).toBe('completed');
  });

  it('can be stopped by itself, and the run above it is told', async () => {
    answer({
      go: messages => (isFirst(messages) ? { tool: task('reader', 'hang') } : { text: lastOf(messages) }),
      hang: () => ({ text: 'Half an answer', hangAfter: 1 }),
    });
    const sent = await agent.send('go', { workspace_id: workspace, model: 'local/small' });
    const { data } = await agent.until(sent, ({ event }) => event === 'tool.output');
    await agent.until({ call_id: data.task_call_id }, ({ event }) => event === 'text.delta');
    await ada.client.post('/api/agent/stop', { call_id: data.task_call_id });
    expect((await agent.ended(sent)).result.response).toMatch(/did not finish \(stopped\)\. Half/);
  });

  it('waits for a person where a call of it needs one, and goes on with the decision', async () => {
    const policy = `/api/workspaces/${workspace}/approval-policy`;
    await ada.client.patch(policy, { write: 'ask' });
    const write = { name: 'write_file', input: { path: 'asked.md', content: 'x' } };
    answer({
      go: messages =>
        isFirst(messages) ? { tool: task('writer', 'ask') } : { text: `Told: ${lastOf(messages)}` },
      ask: messages => (isFirst(messages) ? { tool: write } : { text: 'Written.' }),
    });
    const sent = await agent.send('go', {
      workspace_id: workspace,
      model: 'local/small',
      on_approval: 'wait',
    });
    const approvals = `/api/agent/approvals?workspace_id=${workspace}&status=pending`;
    const { data } = await agent.until(
      sent,
      ({ event, data: its }) => event === 'tool.output' && its.task_call_id,
    );
    await agent.until({ call_id: data.task_call_id }, ({ event }) => event === 'approval.requested');
    const [asked] = (await ada.client.get(approvals)).body.items;
    expect(asked).toMatchObject({ tool: 'write_file', call_id: data.task_call_id });
    await ada.client.post(`/api/agent/approvals/${asked.id}`, { decision: 'allow' });
    expect((await agent.ended(sent)).result.response).toBe('Told: Written.');
    await ada.client.patch(policy, { write: 'auto' });
  });

  it('makes way at its next step for a message that steers the run above it', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const look = { name: 'read_file', input: { path: 'notes/plan.md' } };
    answer({
      go: messages =>
        isFirst(messages) ? { tool: task('lead', 'pass on') } : { text: `Told: ${lastOf(messages)}` },
      'pass on': () => ({ text: 'Passing on.', tool: task('all', 'work') }),
      work: () => ({ text: 'Half done.', tool: look, after: opened }),
    });
    const from = model.requests.length;
    const sent = await agent.send('go', { workspace_id: workspace, model: 'local/small' });
    await model.received(from + 3);
    const steered = await agent.send('also this', { chat_id: sent.chat_id, delivery: 'steer' });
    open();
    const ended = await agent.ended(sent);
    expect(ended.result.response).toBe('Told: also this');
    expect(ended.result.toolOutputs).toMatchObject([
      {
        is_error: true,
        output: expect.stringMatching(/lead ended before .* new message .* so far: Passing on\./),
      },
    ]);
    expect((await agent.ended(steered)).injected_into).toEqual({ call_id: sent.call_id, step: 2 });
    const [lead] = (await record(sent.call_id)).tasks;
    expect(lead).toMatchObject({ stop_reason: 'yielded', step_count: 1 });
    const [worker] = (await record(lead.call_id)).tasks;
    expect(worker.stop_reason).toBe('yielded');
    expect((await record(worker.call_id)).result.response).toBe('Half done.');
  });

  it('that waits for a person keeps no worker, nor do the runs above it', async () => {
    const policy = `/api/workspaces/${workspace}/approval-policy`;
    await ada.client.patch(policy, { write: 'ask' });
    const write = (path: string) => ({ name: 'write_file', input: { path, content: 'x' } });
    answer({
      go: messages =>
        isFirst(messages)
          ? { tools: [task('all', 'pass on'), task('reader', 'quick')] }
          : { text: `Told: ${messages.slice(-2).map(({ content }) => content)}` },
      'pass on': messages =>
        isFirst(messages) ? { tool: task('writer', 'ask') } : { text: lastOf(messages) },
      quick: () => ({ text: 'Done.' }),
      ask: messages => (isFirst(messages) ? { tools: [write('a.md'), write('b.md')] } : { text: 'Written.' }),
      other: () => ({ text: 'Let in.' }),
    });
    const fields = { workspace_id: workspace, model: 'local/small', on_approval: 'wait' };
    const sent = await agent.send('go', fields);
    const asked = await askedBelow(sent, 2);
    // There is one worker, and it has time for another run.
    const other = await agent.run('other', fields);
    expect(other.result.response).toBe('Let in.');
    const waiting = await record(sent.call_id);
    expect(waiting.state).toBe('waiting');
    const [lowest] = (await record(waiting.tasks[0].call_id)).tasks;
    expect(waiting.waiting_for).toMatchObject(
      asked.map(({ data: { approval_id, link } }) => ({
        approval_id,
        link,
        call_id: lowest.call_id,
        tool: 'write_file',
      })),
    );
    for (const { data } of asked)
      await ada.client.post(`/api/agent/approvals/${data.approval_id}`, { decision: 'allow' });
    expect((await agent.ended(sent)).result.response).toBe('Told: Written.,Done.');
    const { tasks } = await record(sent.call_id);
    expect(tasks.map(({ step_count }: Json) => step_count)).toEqual([2, 1]);
    await ada.client.patch(policy, { write: 'auto' });
  });

  it('that waits for a person ends with the run above it, or lets that go on when it is stopped or its chat deleted', async () => {
    const policy = `/api/workspaces/${workspace}/approval-policy`;
    await ada.client.patch(policy, { write: 'ask' });
    const write = { name: 'write_file', input: { path: 'asked.md', content: 'x' } };
    answer({
      go: messages =>
        isFirst(messages) ? { tool: task('all', 'pass on') } : { text: `Told: ${lastOf(messages)}` },
      'pass on': messages =>
        isFirst(messages) ? { tool: task('writer', 'ask') } : { text: lastOf(messages) },
      ask: () => ({ tool: write }),
      other: () => ({ text: 'Let in.' }),
    });
    const fields = { workspace_id: workspace, model: 'local/small', on_approval: 'wait' };
    const waiting = async () => {
      const sent = await agent.send('go', fields);
      const [asked] = await askedBelow(sent, 1);
      // With the one worker there is, this begins when that run has none.
      await agent.run('other', fields);
      const [middle] = (await record(sent.call_id)).tasks;
      const [lowest] = (await record(middle.call_id)).tasks;
      return { sent, asked, middle, lowest };
    };
    const ended = await waiting();
    await ada.client.post('/api/agent/stop', { call_id: ended.sent.call_id });
    for (const one of [ended.sent, ended.middle, ended.lowest])
      expect((await agent.ended(one)).stop_reason).toBe('stopped');
    const stopped = await waiting();
    await ada.client.post('/api/agent/stop', { call_id: stopped.lowest.call_id });
    expect((await agent.ended(stopped.sent)).result.response).toMatch(
      /^Told: The agent writer did not finish/,
    );
    const gone = await waiting();
    await ada.client.delete(`/api/chats/${gone.lowest.chat_id}`);
    expect((await agent.ended(gone.sent)).result.response).toMatch(/^Told: The task is gone/);
    const both = await waiting();
    await Promise.all([
      ada.client.post('/api/agent/stop', { call_id: both.sent.call_id }),
      ada.client.post(`/api/agent/approvals/${both.asked?.data.approval_id}`, { decision: 'deny' }),
    ]);
    expect((await agent.ended(both.sent)).stop_reason).toBe('stopped');
    await ada.client.patch(policy, { write: 'auto' });
  });

  it('that waits for a person makes way, too', async () => {
    const policy = `/api/workspaces/${workspace}/approval-policy`;
    await ada.client.patch(policy, { write: 'ask' });
    const write = { name: 'write_file', input: { path: 'asked.md', content: 'x' } };
    answer({
      go: messages =>
        isFirst(messages) ? { tool: task('writer', 'ask') } : { text: `Told: ${lastOf(messages)}` },
      ask: messages => (isFirst(messages) ? { tool: write } : { text: 'Refused.' }),
    });
    const fields = { workspace_id: workspace, model: 'local/small', on_approval: 'wait' };
    const sent = await agent.send('go', fields);
    const { data } = await agent.until(sent, ({ event }) => event === 'tool.output');
    await agent.until({ call_id: data.task_call_id }, ({ event }) => event === 'approval.requested');
    await agent.send('never mind', { chat_id: sent.chat_id, delivery: 'steer' });
    expect((await agent.ended(sent)).result.response).toBe('Told: never mind');
    const approvals = `/api/agent/approvals?workspace_id=${workspace}&status=cancelled`;
    const [newest] = (await ada.client.get(approvals)).body.items;
    expect(newest).toMatchObject({ call_id: data.task_call_id });
    await ada.client.patch(policy, { write: 'auto' });
  });

  describe('that is started through an action', () => {
    const sends = (message: string) => `actions run agent_send '${JSON.stringify({ message })}'`;
    /** Sends it, and waits for the end of its run. */
    const waits = (message: string) =>
      `id=$(${sends(message)} | sed -n 's/.*"call_id": *"\\([^"]*\\)".*/\\1/p' | head -1); actions run run_status_get "{\\"call_id\\":\\"$id\\",\\"wait\\":30}"`;
    const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } });
    const pending = async () =>
      (await service.database.query("select count(*)::int as count from run where status = 'pending'"))[0]
        ?.count;

    it('is one of its run: carried in its place, counted, and shown', async () => {
      answer({
        go: messages => (isFirst(messages) ? bash(waits('count')) : { text: 'Done.' }),
        count: () => ({ text: 'One.' }),
      });
      const ended = await run();
      expect(ended.result.toolOutputs[0].output).toContain('One.');
      const read = await record(ended.call_id);
      expect(read).toMatchObject({
        total_steps: 3,
        tasks: [{ tool_call_id: null, agent_name: '', status: 'completed', step_count: 1 }],
      });
      const [task] = read.tasks;
      expect(await record(task.call_id)).toMatchObject({ parent_call_id: ended.call_id });
      const again = await ada.client.post('/api/agent/message', { message: 'x', chat_id: task.chat_id });
      expect(again.status).toBe(409);
    });

    it('is one of so many at once, and all end with their run', async () => {
      const many = `for i in $(seq 12); do ${sends('hang')} || true; done 2>&1; echo all sent; sleep 300`;
      answer({ go: () => bash(many), hang: () => ({ hang: true }) });
      const sent = await agent.send('go', { workspace_id: workspace, model: 'local/small' });
      const output: string[] = [];
      await ada.client.events(`/api/agent/runs/${sent.call_id}/events`, {
        until: ({ event, data }) => {
          if (event === 'tool.output') output.push(data.text);
          return output.join('').includes('all sent');
        },
      });
      expect(output.join('').match(/A run has 8 tasks at work at most/g)).toHaveLength(4);
      expect((await record(sent.call_id)).tasks).toHaveLength(8);
      await ada.client.post('/api/agent/stop', { call_id: sent.call_id });
      const { tasks } = await record(sent.call_id);
      expect(new Set(tasks.map((task: Json) => task.stop_reason))).toEqual(new Set(['stopped']));
      expect(await pending()).toBe(0);
    });

    it('is waited for by the end of its run', async () => {
      answer({
        go: messages => (isFirst(messages) ? bash(sends('later')) : { text: 'Sent.' }),
        later: messages => (isFirst(messages) ? bash('sleep 1') : { text: 'Late.' }),
      });
      const ended = await run();
      expect(ended).toMatchObject({ stop_reason: 'end_turn', result: { response: 'Sent.' } });
      expect((await record(ended.call_id)).tasks).toMatchObject([{ stop_reason: 'end_turn', step_count: 2 }]);
    });

    it('goes no deeper, uses up the budget above it, and is in no chat of others', async () => {
      answer({
        go: messages => (isFirst(messages) ? bash(`${sends('first')}; sleep 2`) : { text: 'Done.' }),
        first: messages => (isFirst(messages) ? bash(`${sends('second')}; sleep 1`) : { text: 'One.' }),
        second: messages => (isFirst(messages) ? bash(`${sends('third')} 2>&1`) : { text: lastOf(messages) }),
      });
      const ended = await run();
      expect(await record(ended.call_id)).toMatchObject({ total_steps: 6 });
      const [first] = (await record(ended.call_id)).tasks;
      const [second] = (await record(first.call_id)).tasks;
      const { result } = (await ada.client.get(`/api/agent/status/${second.call_id}`)).body;
      expect(result.response).toContain('Tasks are handed on 2 levels deep at most');

      answer({
        go: messages => (isFirst(messages) ? bash(waits('dally')) : { text: 'Done.' }),
        dally: () => bash('true'),
      });
      const limited = await run({ budget: { max_steps: 4, max_seconds: 120 } });
      const { tasks, total_steps } = await record(limited.call_id);
      expect(tasks).toMatchObject([{ stop_reason: 'max_steps' }]);
      expect(total_steps).toBe(4);

      const other = await agent.run('hello', { workspace_id: workspace, model: 'local/small' });
      const into = `actions run agent_send '{"message":"x","chat_id":"${other.chat_id}"}' 2>&1`;
      answer({ go: messages => (isFirst(messages) ? bash(into) : { text: 'Done.' }) });
      expect((await run()).result.toolOutputs[0].output).toContain('leave chat_id out');
    });

    it('may use no tool that those above it may not', async () => {
      put(workspace, {
        '.agents/sender.md': file('description: Sends', 'tools: [bash, "action:agent_send"]'),
      });
      const write = { tool: { name: 'write_file', input: { path: 'sneaked.txt', content: 'x' } } };
      answer({
        go: messages => (isFirst(messages) ? bash(`${sends('sneak')}; sleep 2`) : { text: 'Done.' }),
        sneak: messages => (isFirst(messages) ? write : { text: lastOf(messages) }),
      });
      const ended = await run({ agent_name: 'sender' });
      const [task] = (await record(ended.call_id)).tasks;
      const { result } = (await ada.client.get(`/api/agent/status/${task.call_id}`)).body;
      expect(result.toolOutputs).toMatchObject([
        { is_error: true, output: expect.stringContaining('write_file') },
      ]);
    });
  });

  it('goes with its chat', async () => {
    answer({
      go: messages => (isFirst(messages) ? { tool: task('reader', 'quick') } : { text: 'ok' }),
      quick: () => ({ text: 'Done.' }),
    });
    const ended = await run();
    const [{ call_id }] = (await record(ended.call_id)).tasks;
    await ada.client.delete(`/api/chats/${ended.chat_id}`);
    expect((await ada.client.get(`/api/agent/runs/${call_id}`)).status).toBe(404);
  });
});

describe('a skill', () => {
  it('is named in the prompt and read when it is asked for', async () => {
    const workspace = await workspaceWith({
      '.agents/skills/notes/SKILL.md': file('name: notes', 'description: Writes notes'),
      '.agents/reader.md': file('description: Reads', 'tools: [read_file]'),
    });
    const agent = new AgentClient(ada.client);
    const place = { workspace_id: workspace, model: 'local/small' };
    const script = (name: string) =>
      model.otherwise(request => {
        const messages = messagesOf(request);
        return messages.length === 2
          ? { tool: { name: 'skill', input: { name } } }
          : { text: messages.at(-1)?.content };
      });
    script('notes');
    const from = model.requests.length;
    expect((await agent.run('go', place)).result.response).toBe(
      'Files that it names are in .agents/skills/notes/.\n\nDo it well.',
    );
    expect(messagesOf(model.requests[from] ?? { body: {} })[0].content).toContain('- notes: Writes notes');
    script('other');
    expect((await agent.run('go', place)).result.response).toBe('There is no skill "other"; there are notes');
    script('notes');
    const refused = await agent.run('go', { ...place, agent_name: 'reader' });
    expect(refused.result.response).toMatch(/The agent reader may not call skill/);
  });
});
