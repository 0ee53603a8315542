import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import type { FakeReply, FakeRequest } from '../../fakes/scripted-server.js';
import { AgentClient, messagesOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

/** Small enough to be filled by a few messages; instructions and tools take some of it. */
const WINDOW = 16_000;
const price = { input: 1_000_000, output: 0 };

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  rememberConversations();
  model = await FakeOpenAi.start();
  const prices = path.join(mkdtempSync(path.join(tmpdir(), 'atelier-prices-')), 'prices.json');
  writeFileSync(
    prices,
    JSON.stringify({
      'local/small': { context_window: WINDOW, price },
      'atelier/demo': { context_window: WINDOW },
    }),
  );
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small,unmeasured',
    MODEL_PRICES: prices,
    SANDBOX_DRIVER: 'bubblewrap',
  });
  rmSync(path.dirname(prices), { recursive: true });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
beforeEach(() => {
  model.requests.length = 0;
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  jest.restoreAllMocks();
});

/** The newest statement that read a conversation, with its values. */
let conversation: { text: string; values: unknown[] } | undefined;

/** Connections bind this method when they are made: it has to precede the service. */
function rememberConversations(): void {
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [asked, values = (asked as Json)?.values] = given;
    const text = typeof asked === 'string' ? asked : (asked as Json)?.text;
    if (/^\s*with newest as/.test(text)) conversation = { text, values: values as unknown[] };
    return query.apply(this, given);
  } as never);
}

/** How many rows of a table a plan read, and how it reached them. */
function readsOf(node: Json, table: string): { rows: number; by: string }[] {
  const { Plans = [], 'Relation Name': relation, 'Rows Removed by Filter': removed = 0 } = node;
  const rows = (node['Actual Rows'] + removed) * node['Actual Loops'];
  const own = relation === table ? [{ rows, by: node['Index Name'] ?? node['Node Type'] }] : [];
  return [...own, ...Plans.flatMap((plan: Json) => readsOf(plan, table))];
}

const isSummarizing = (request: FakeRequest) => textOf(request).includes('<transcript>');
const textOf = (request: FakeRequest | undefined) => JSON.stringify(request?.body.messages ?? []);
const long = (word: string, bytes = 9_000) => `${word} `.repeat(Math.ceil(bytes / (word.length + 1)));
const record = async ({ call_id }: Json) => (await ada.client.get(`/api/agent/runs/${call_id}`)).body;
const compactions = async (sent: Json) =>
  (await agent.events(sent)).filter(({ event }) => event === 'context.compacted');

/** Every call of a request has its result right behind it, and the other way round. */
function expectWholeCalls(request: FakeRequest | undefined): void {
  const open = new Set<string>();
  for (const { role, tool_calls = [], tool_call_id } of messagesOf(request ?? { body: {} })) {
    if (role === 'tool') expect(open.delete(tool_call_id)).toBe(true);
    else expect(open.size).toBe(0);
    for (const { id } of tool_calls) open.add(id);
  }
  expect(open.size).toBe(0);
}

describe('a chat that grows longer than the window of its model', () => {
  it('goes on with a summary of its beginning, and is kept whole', async () => {
    const summary = 'The person likes herons.';
    model.otherwise(request =>
      isSummarizing(request) ? { text: summary } : { text: long('answer', 4_000) },
    );
    const first = await agent.run(`Remember the heron. ${long('one')}`, { model: 'local/small' });
    const { chat_id } = first;
    for (const word of ['two', 'three']) await agent.run(long(word), { chat_id, model: 'local/small' });
    const asked = model.requests.findIndex(isSummarizing);
    expect(asked).toBeGreaterThan(0);
    expect(model.requests[asked]?.body.tools).toBeUndefined();
    expect(textOf(model.requests[asked])).toContain('Remember the heron.');
    const next = model.requests[asked + 1];
    expect(textOf(next)).toContain(summary);
    expect(textOf(next)).toContain('Remember the heron.');
    expect(textOf(next).length).toBeLessThan(WINDOW * 3);
    const { body } = await ada.client.get(`/api/chats/${chat_id}/messages`);
    expect(body.items).toHaveLength(6);
    expect(body.items[0].text).toContain('Remember the heron.');
  });

  it('tells so, and counts what the summary cost, once', async () => {
    const usage = { input: 100, output: 10 };
    model.otherwise(request =>
      isSummarizing(request) ? { text: 'Short.', usage: { input: 7, output: 1 } } : { text: 'ok', usage },
    );
    let run = await agent.run(long('one'), { model: 'local/small' });
    const { chat_id } = run;
    do run = await agent.run(long('more'), { chat_id, model: 'local/small' });
    while (!model.requests.some(isSummarizing));
    const [compacted] = await compactions(run);
    expect(compacted?.data).toMatchObject({ step: 1, usage: { input_tokens: 7 }, cost_usd: 7 });
    expect(compacted?.data.tokens_after).toBeLessThan(compacted?.data.tokens_before);
    const { compactions: made, cost_usd, usage: used } = await record(run);
    expect(made).toMatchObject([{ step: 1, model: 'local/small', cost_usd: 7 }]);
    expect({ cost_usd, input: used.input_tokens }).toEqual({ cost_usd: 107, input: 107 });
    const entries = await service.database.query(
      'select step, cost_usd::float8 from usage_entry where run_id = $1 order by step nulls first',
      [run.call_id],
    );
    expect(entries).toEqual([
      { step: null, cost_usd: 7 },
      { step: 1, cost_usd: 100 },
    ]);
  });

  it('is made shorter in the middle of a run too, and no result stays without its call', async () => {
    const read = { name: 'bash', input: { command: `head -c 6000 /dev/zero | tr '\\0' x` } };
    const write = { name: 'write_file', input: { path: 'kept.md', content: 'kept' } };
    let steps = 0;
    model.otherwise(request => {
      if (isSummarizing(request)) return { text: 'So far: read twice.' };
      steps += 1;
      if (steps === 1) return { tools: [write, read] };
      return steps < 12 ? { tools: [read, read] } : { text: 'Done.' };
    });
    const run = await agent.run('Read it all, and say Done.', { workspace_id, model: 'local/small' });
    expect(run).toMatchObject({ status: 'completed', result: { response: 'Done.' } });
    expect((await compactions(run)).length).toBeGreaterThan(0);
    for (const request of model.requests) expectWholeCalls(request);
    const last = textOf(model.requests.at(-1));
    expect(last).toContain('Read it all, and say Done.');
    expect(last).toContain('- kept.md');
    expect(run.result.toolOutputs).toHaveLength(22);
  });

  it('costs a turn no more than what fits, where the window is not known', async () => {
    model.otherwise(request => ({ text: isSummarizing(request) ? 'Of cranes.' : 'ok' }));
    const { call_id, chat_id } = await agent.run('Remember the crane.', { model: 'local/unmeasured' });
    await service.database.query(
      `insert into message (id, chat_id, run_id, run_number, role, content, model, created_at)
       select gen_random_uuid(), chat_id, id, number, case n % 2 when 0 then 'assistant' else 'user' end,
         jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'Crane ' || n || repeat(' and on', 10))),
         case n % 2 when 0 then model end, now()
       from run, generate_series(1, 10000) n where id = $1`,
      [call_id],
    );
    await service.database.query('analyze message, chat_summary, run');
    const first = await agent.run('How many?', { chat_id, model: 'local/unmeasured' });
    expect(first.status).toBe('completed');
    expect(await compactions(first)).toHaveLength(1);
    const asked = textOf(model.requests.at(-1));
    for (const kept of ['Remember the crane.', 'Of cranes.', 'Crane 10000 ', 'How many?'])
      expect(asked).toContain(kept);
    expect(asked).not.toContain('Crane 5000 ');

    const next = await agent.run('And now?', { chat_id, model: 'local/unmeasured' });
    expect(await compactions(next)).toEqual([]);
    expect(textOf(model.requests.at(-1))).toContain('Of cranes.');
    const [{ 'QUERY PLAN': [{ Plan }] = [] } = {}] = await service.database.query<Json>(
      `explain (analyze, format json) ${conversation?.text}`,
      conversation?.values,
    );
    const [read] = readsOf(Plan, 'message');
    expect(read?.by).toBe('message_chat_id');
    expect(read?.rows).toBeGreaterThan(100);
    expect(read?.rows).toBeLessThan(1_500);
  });

  it('is made shorter when its provider says that it is too long, and the step is tried once more', async () => {
    const tooLong: FakeReply = {
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 10 tokens",
          code: 'context_length_exceeded',
        },
      },
    };
    model.otherwise({ text: 'fine' });
    const { chat_id } = await agent.run('Remember the egret.', { model: 'local/unmeasured' });
    await agent.run(long('more'), { chat_id, model: 'local/unmeasured' });
    model.reply([tooLong, { text: 'It was about egrets.' }, { text: 'Shorter now.' }]);
    const sent = await agent.send('And now?', { chat_id, model: 'local/unmeasured' });
    expect((await agent.ended(sent)).result.response).toBe('Shorter now.');
    expect(textOf(model.requests.at(-1))).toContain('It was about egrets.');
    expect(await compactions(sent)).toHaveLength(1);

    model.reply([tooLong, { text: 'Egrets.' }, tooLong]);
    await agent.run(long('even more'), { chat_id, model: 'atelier/demo' });
    const failed = await agent.run('Once more?', { chat_id, model: 'local/unmeasured' });
    expect(failed).toMatchObject({ status: 'error', error: { type: 'model_context_length' } });
  });

  it('goes on without the words of a model that will not sum it up', async () => {
    model.otherwise(request => (isSummarizing(request) ? {} : { text: 'ok' }));
    let run = await agent.run(`Count the storks. ${long('one')}`, { model: 'local/small' });
    const { chat_id } = run;
    do run = await agent.run(long('more'), { chat_id, model: 'local/small' });
    while (!model.requests.some(isSummarizing));
    expect(run).toMatchObject({ status: 'completed', result: { response: 'ok' } });
    expect(textOf(model.requests.at(-1))).toContain('Count the storks.');
  });

  it('ends at its budget when the summary has used it up', async () => {
    model.otherwise(request =>
      isSummarizing(request)
        ? { text: 'Dear.', usage: { input: 50, output: 0 } }
        : { text: 'ok', usage: { input: 1 } },
    );
    const { chat_id } = await agent.run(long('one'), { model: 'local/small' });
    await agent.run(long('two'), { chat_id, model: 'local/small' });
    const run = await agent.run(long('three', 16_000), {
      chat_id,
      model: 'local/small',
      budget: { cost_usd: 20 },
    });
    expect(run).toMatchObject({ status: 'completed', stop_reason: 'max_cost', cost_usd: 50 });
  });

  it('of the demo model goes on where it was', async () => {
    const commands = Array.from(
      { length: 14 },
      (_, n) => `run echo ${n} >> lines.txt; head -c 5000 /dev/zero | tr '\\0' y`,
    );
    const run = await agent.run([...commands, 'read lines.txt'].join('\n'), {
      workspace_id,
      model: 'atelier/demo',
    });
    expect(run.status).toBe('completed');
    expect((await compactions(run)).length).toBeGreaterThan(0);
    const { output } = run.result.toolOutputs.at(-1);
    expect(output.trim().split('\n')).toEqual(Array.from({ length: 14 }, (_, n) => `${n + 1}\t${n}`));
  });
});

describe('how full the context is', () => {
  it('is told with each step, by the status, and with the chat, as the provider counts', async () => {
    model.reply([
      { tool: { name: 'bash', input: { command: 'true' } }, usage: { input: 1_000, output: 20 } },
      { text: 'ok', usage: { input: 1_200, output: 30 } },
    ]);
    const run = await agent.run('go', { workspace_id, model: 'local/small' });
    const context = { tokens: 1_230, window: WINDOW, source: 'provider', model: 'local/small', step: 2 };
    expect(run.context).toEqual(context);
    const steps = (await agent.events(run)).filter(({ event }) => event === 'step.finished');
    expect(steps.map(({ data }) => data.context)).toEqual([{ ...context, tokens: 1_020, step: 1 }, context]);
    expect((await record(run)).context).toEqual(context);
    expect((await ada.client.get(`/api/chats/${run.chat_id}`)).body.context).toEqual(context);
    const empty = await ada.client.post('/api/agent', { workspace_id, title: 'Nothing yet' });
    expect((await ada.client.get(`/api/chats/${empty.body.id}`)).body.context).toBeNull();
  });

  it('is estimated where the provider does not count', async () => {
    model.reply([{ text: 'ok', usage: { input: 0, output: 0 } }]);
    const { context } = await agent.run(long('word', 6_000), { model: 'local/unmeasured' });
    expect(context).toMatchObject({ source: 'estimate', window: 128_000, model: 'local/unmeasured' });
    expect(context.tokens).toBeGreaterThan(2_000);
    expect(context.tokens).toBeLessThan(128_000);
  });
});

describe('a context that is nearly full', () => {
  const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);
  const read = (file: string) => ({ name: 'read_file', input: { path: file } });
  /** The results that a request has, in order. */
  const resultsIn = (request: FakeRequest | undefined) =>
    messagesOf(request ?? { body: {} }).filter(({ role }) => role === 'tool');

  it('first does without what later calls gave anew, and needs no summary for that', async () => {
    writeFileSync(inWorkspace('long.txt'), `${'heron '.repeat(8)}\n`.repeat(80));
    let steps = 0;
    model.otherwise(request => {
      if (isSummarizing(request)) return { text: 'Never.' };
      steps += 1;
      return steps <= 12 ? { tool: read('long.txt') } : { text: 'Done.' };
    });
    const run = await agent.run('Read it again and again.', { workspace_id, model: 'local/small' });
    expect(run.result.response).toBe('Done.');
    expect(await compactions(run)).toEqual([]);
    const [trimmed] = (await agent.events(run)).filter(({ event }) => event === 'context.trimmed');
    expect(trimmed?.data.results).toBeGreaterThan(1);
    expect(trimmed?.data.tokens_after).toBeLessThan(trimmed?.data.tokens_before);
    const results = resultsIn(model.requests.at(-1)).map(({ content }) => content);
    expect(results).toHaveLength(12);
    expect(results[0]).toBe('Left out to make room: a later call gave this anew.');
    expect(results.at(-1)).toContain('heron');
    for (const request of model.requests) expectWholeCalls(request);
    // What the run has done stays as it was.
    expect(run.result.toolOutputs[0].output).toContain('heron');
  });

  it('keeps the plan, what was read and what people decided, whatever the summary says', async () => {
    writeFileSync(inWorkspace('notes.txt'), 'notes\n');
    const items = [{ title: 'Count the herons', status: 'in_progress' }];
    const ask = {
      question: 'In which lake?',
      choices: [{ label: 'The upper one' }, { label: 'The lower one' }],
    };
    const fill = { name: 'bash', input: { command: `head -c 6000 /dev/zero | tr '\\0' x` } };
    const first = [{ name: 'plan', input: { items } }, read('notes.txt'), { name: 'ask', input: ask }];
    let steps = 0;
    model.otherwise(request => {
      if (isSummarizing(request)) return { text: 'Nothing of note.' };
      steps += 1;
      if (steps === 1) return { tools: first };
      return steps < 12 ? { tools: [fill, fill] } : { text: 'Done.' };
    });
    const run = await agent.send('Count them.', { workspace_id, model: 'local/small' });
    const asked = await agent.until(run, ({ event }) => event === 'question.asked');
    await ada.client.post(`/api/agent/questions/${asked.data.question_id}/answers`, {
      choices: ['The lower one'],
    });
    expect((await agent.ended(run)).result.response).toBe('Done.');
    expect((await compactions(run)).length).toBeGreaterThan(1);
    const last = textOf(model.requests.at(-1));
    for (const kept of [
      'Nothing of note.',
      '[>] 1: Count the herons',
      '- notes.txt',
      'In which lake?',
      'Chosen: The lower one',
    ])
      expect(last).toContain(kept);
  });
});

describe('an output that is too long for a model', () => {
  const run = async (command: string, fields = {}) => {
    const chosen = { workspace_id, model: 'local/unmeasured', ...fields };
    model.reply([{ tool: { name: 'bash', input: { command } } }, { text: 'Done.' }]);
    return agent.run('go', chosen);
  };
  const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);

  it('is in a file of the workspace, of which the model is told, and which searches pass over', async () => {
    const { call_id, result } = await run('echo first; seq 100000; echo last');
    const [{ output }] = result.toolOutputs;
    const file = `.atelier/output/${call_id}/1-1-bash.txt`;
    expect(output).toMatch(/^first\n1\n[\s\S]*100000\nlast$/);
    expect(output).toContain(`All 100002 lines are in the file ${file}`);
    expect(output.length).toBeLessThan(20_000);
    expect(readFileSync(inWorkspace(file), 'utf8').split('\n')).toHaveLength(100_002);
    const search = `/api/workspaces/${workspace_id}/search?in=content&q=77777`;
    expect((await ada.client.get(search)).body.items).toEqual([]);
    const told = messagesOf(model.requests.at(-1) ?? { body: {} }).at(-1);
    expect(told.content).toBe(output);
  });

  it('does not outlive twenty further runs', async () => {
    mkdirSync(inWorkspace('.atelier/output'), { recursive: true });
    for (let old = 10; old < 40; old++)
      mkdirSync(inWorkspace(`.atelier/output/00000000-0000-7000-8000-0000000000${old}`));
    const { call_id } = await run('seq 100000');
    const kept = readdirSync(inWorkspace('.atelier/output'));
    expect(kept).toHaveLength(20);
    expect(kept).toContain(call_id);
  });

  it('is cut off where it cannot be kept', async () => {
    rmSync(inWorkspace('.atelier'), { recursive: true });
    symlinkSync('/tmp', inWorkspace('.atelier'));
    const { result } = await run('seq 100000');
    expect(result.toolOutputs[0].output).toMatch(/characters left out …[\s\S]*could not be kept: /);
    rmSync(inWorkspace('.atelier'));
  });
});
