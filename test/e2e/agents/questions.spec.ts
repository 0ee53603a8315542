import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import { type AgentCrew, messagesOf, startCrew } from '../../harness/agent.js';
import { Browser } from '../../harness/browser.js';
import type { Client, Json } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

let smtp: FakeSmtpServer;
let ground: AgentCrew;
let service: TestService;
let ada: Person;
let editor: Person;
let viewer: Person;
let stranger: Person;
let workspace_id: string;

beforeAll(async () => {
  smtp = await FakeSmtpServer.start();
  ground = await startCrew({ SMTP_URL: smtp.url });
  ({ service, ada, editor, viewer, stranger, workspace_id } = ground);
  await service.database.query('update "user" set email_verified_at = now() where id = $1', [ada.id]);
});
afterEach(() => ground.model.clear());
afterAll(async () => {
  await ground.stop();
  await smtp.stop();
});

const DATABASE = {
  question: 'Which database is it to be?',
  choices: [{ label: 'PostgreSQL', description: 'A server' }, { label: 'SQLite' }],
};
const ask = (input: Json = DATABASE) => ({ name: 'ask', input });
const status = (run: Json) => ground.agent.status(run);
const answer = (id: string, body: Json, client: Client = ada.client) =>
  client.post(`/api/agent/questions/${id}/answers`, body);
const stop = (run: Json) => ground.agent.stop(run);
/** What the model was told of its calls by its newest request. */
const told = (): string[] =>
  messagesOf(ground.model.requests.at(-1) as never)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

/** A run that waits for answers, and what it asks. */
async function asking(tools: Json[] = [ask()], fields: Json = {}, agent = ground.agent) {
  ground.model.reply({ tools });
  const run = await agent.send('go', { workspace_id, title: 'Set it up', ...fields });
  const asked = tools.filter(({ name }) => name === 'ask').length;
  const events = await ground.agent.eventsUntil(run, 'question.asked', asked);
  const { questions, state, waiting_for } = await status(run);
  return {
    run,
    events,
    questions: questions as Json[],
    id: questions?.[0]?.id as string,
    state,
    waiting_for,
  };
}

describe('a run that asks', () => {
  it('waits without a worker, says what it asks by every way, and goes on with the answer', async () => {
    const { run, events, questions, id, state } = await asking();
    expect(state).toBe('waiting');
    const shown = {
      id,
      call_id: run.call_id,
      question: DATABASE.question,
      multiple: false,
      allow_text: true,
      asked_of: ada.id,
      choices: [
        { label: 'PostgreSQL', description: 'A server' },
        { label: 'SQLite', description: null },
      ],
      link: `${service.url}/questions/${id}`,
    };
    expect(questions).toEqual([expect.objectContaining(shown)]);
    expect(events.at(-1)?.data).toMatchObject({
      question_id: id,
      question: DATABASE.question,
      link: shown.link,
    });
    const [row] = await service.database.query<Json>('select holder, due from run where id = $1', [
      run.call_id,
    ]);
    expect(row).toEqual({ holder: null, due: false });
    for (const query of [`chat_id=${run.chat_id}`, `workspace_id=${workspace_id}`, 'status=pending'])
      expect((await ada.client.get(`/api/agent/questions?${query}`)).body.items[0]).toMatchObject(shown);
    expect((await ada.client.get(`/api/agent/questions/${id}`)).body).toMatchObject({
      ...shown,
      status: 'pending',
      chat_id: run.chat_id,
      workspace_id,
      answer: null,
      answered_by: null,
    });
    ground.model.reply({ text: 'PostgreSQL it is.' });
    const answered = await answer(id, { choices: ['PostgreSQL'], text: ' version 18 ' });
    expect(answered).toMatchObject({
      status: 200,
      body: {
        status: 'answered',
        answered_by: ada.id,
        answer: { choices: ['PostgreSQL'], text: 'version 18' },
      },
    });
    expect((await ground.agent.ended(run)).result).toMatchObject({
      response: 'PostgreSQL it is.',
      toolOutputs: [{ tool: 'ask', output: 'Chosen: PostgreSQL\nAnswer: version 18', is_error: false }],
    });
    expect(told()).toEqual(['Chosen: PostgreSQL\nAnswer: version 18']);
    const all = await ground.agent.events(run);
    expect(all.filter(({ event }) => event.startsWith('question.')).map(({ event }) => event)).toEqual([
      'question.asked',
      'question.answered',
    ]);
    expect(all.find(({ event }) => event === 'question.answered')?.data).toMatchObject({
      question_id: id,
      choices: ['PostgreSQL'],
      text: 'version 18',
      answered_by: ada.id,
    });
    const [entry] = await service.database.query<Json>(
      `select actor_id, details from audit_entry where action = 'question.answer' order by id desc limit 1`,
    );
    expect(entry).toMatchObject({ actor_id: ada.id, details: { run_id: run.call_id } });
  });

  it('asks all that one step asks at once, beside what needs an approval, and goes on when all is answered', async () => {
    await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
    const write = { name: 'write_file', input: { path: 'a.txt', content: 'x' } };
    const { run, questions, waiting_for } = await asking([ask(), write, ask({ question: 'And why?' })]);
    expect([questions.length, waiting_for.length]).toEqual([2, 1]);
    expect((await answer(questions[1]?.id, { text: 'Because' })).status).toBe(200);
    expect((await answer(questions[0]?.id, { choices: ['SQLite'] })).status).toBe(200);
    expect(await status(run)).toMatchObject({ state: 'waiting', questions: null });
    ground.model.reply({ text: 'Done.' });
    await ada.client.post(`/api/agent/approvals/${waiting_for[0].approval_id}`, { decision: 'deny' });
    await ground.agent.ended(run);
    expect(told()).toEqual(['Chosen: SQLite', expect.stringContaining('Denied'), 'Answer: Because']);
    await service.database.query('delete from approval_policy');
  });

  it('takes one answer, however many come at once', async () => {
    const { run, id } = await asking();
    ground.model.reply({ text: 'Done.' });
    const answers = await Promise.all(
      ['PostgreSQL', 'SQLite', 'PostgreSQL', 'SQLite'].map(label => answer(id, { choices: [label] })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const taken = answers.find(({ status }) => status === 200)?.body.answer.choices[0];
    await ground.agent.ended(run);
    expect(told()).toEqual([`Chosen: ${taken}`]);
    expect(await answer(id, { choices: ['SQLite'] })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('answered already') },
    });
  });

  it.each<[string, Json, string]>([
    ['a choice that is none', { choices: ['MySQL'] }, 'there are PostgreSQL, SQLite'],
    ['two where one is to be chosen', { choices: ['PostgreSQL', 'SQLite'] }, 'takes one of them'],
    ['nothing', {}, 'Choose of PostgreSQL, SQLite'],
    ['blanks', { text: '  ' }, 'Choose of PostgreSQL, SQLite'],
    ['what is too long', { text: 'x'.repeat(10_001) }, 'text'],
    ['a field that is none', { answer: 'x' }, 'answer is not a field'],
  ])('refuses %s', async (_, body, detail) => {
    const { run, id } = await asking();
    expect(await answer(id, body)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(detail) },
    });
    expect((await status(run)).state).toBe('waiting');
    await stop(run);
  });

  it('takes several choices, and no text, where it says so', async () => {
    const { run, id } = await asking([ask({ ...DATABASE, multiple: true, allow_text: false })]);
    expect(await answer(id, { choices: ['SQLite'], text: 'and more' })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('answered by choices alone') },
    });
    ground.model.reply({ text: 'Both.' });
    await answer(id, { choices: ['SQLite', 'PostgreSQL', 'SQLite'] });
    await ground.agent.ended(run);
    expect(told()).toEqual(['Chosen: SQLite, PostgreSQL']);
  });

  it('is answered by who started it, and by nobody else', async () => {
    const { run, id } = await asking();
    const path = `/api/agent/questions/${id}`;
    const seen = async ({ client }: Person) => [
      (await client.get(path)).status,
      (await answer(id, { choices: ['SQLite'] }, client)).status,
    ];
    expect(await seen(stranger)).toEqual([404, 404]);
    expect(await seen(viewer)).toEqual([200, 403]);
    expect(await seen(editor)).toEqual([200, 403]);
    const reading = await service.key(ada, { name: 'Reads', scopes: ['chats:read'] });
    expect((await reading.get(path)).status).toBe(200);
    expect((await answer(id, { choices: ['SQLite'] }, reading)).status).toBe(403);
    expect((await answer(run.call_id, { choices: ['SQLite'] })).status).toBe(404);
    for (const query of [`chat_id=${run.chat_id}`, `workspace_id=${workspace_id}`])
      expect((await stranger.client.get(`/api/agent/questions?${query}`)).status).toBe(404);
    expect((await editor.client.get('/api/agent/questions')).body.items).toEqual([]);
    await stop(run);
  });

  it('is not held up by a stop, and what it asked is closed', async () => {
    const { run, id } = await asking();
    await stop(run);
    expect(await status(run)).toMatchObject({ state: 'done', questions: null });
    expect((await ada.client.get(`/api/agent/questions/${id}`)).body.status).toBe('cancelled');
    expect((await answer(id, { choices: ['SQLite'] })).status).toBe(409);
    const events = await ground.agent.events(run);
    expect(events.find(({ event }) => event === 'question.withdrawn')?.data).toMatchObject({
      question_id: id,
      status: 'cancelled',
    });
  });

  it('goes on with a message that steers instead of an answer', async () => {
    const { run, id } = await asking();
    ground.model.reply({ text: 'All right.' });
    await ground.agent.send('Neither, leave it', { chat_id: run.chat_id, delivery: 'steer' });
    expect((await ground.agent.ended(run)).result.response).toBe('All right.');
    expect((await ada.client.get(`/api/agent/questions/${id}`)).body.status).toBe('cancelled');
    expect(told()[0]).toContain('a new message of the user has come in');
  });

  it('goes on without an answer when its time is over, told to decide itself', async () => {
    await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { deadline_seconds: 1 });
    ground.model.reply([{ tools: [ask()] }, { text: 'I took SQLite.' }]);
    const run = await ground.agent.send('go', { workspace_id });
    const { status, result } = await ground.agent.ended(run);
    expect(status).toBe('completed');
    expect(result.toolOutputs[0].output).toContain('No one answered in time. Decide yourself');
    const { body } = await ada.client.get(`/api/agent/questions?chat_id=${run.chat_id}`);
    expect(body.items).toEqual([expect.objectContaining({ status: 'expired', answer: null })]);
    expect((await answer(body.items[0].id, { choices: ['SQLite'] })).status).toBe(409);
    await service.database.query('delete from approval_policy');
  });

  it.each<[string, Json]>([
    ['twice the same choice', { question: 'Which?', choices: [{ label: 'A' }, { label: 'A ' }] }],
    ['no way to answer', { question: 'Which?', allow_text: false }],
    ['no question', { choices: [{ label: 'A' }] }],
    ['eleven choices', { question: 'Which?', choices: [...'abcdefghijk'].map(label => ({ label })) }],
  ])('tells the model what is wrong with %s, and asks nobody', async (_, input) => {
    ground.model.reply([{ tools: [ask(input)] }, { text: 'Oh.' }]);
    const { result } = await ground.agent.run('go', { workspace_id });
    expect(result.toolOutputs[0]).toMatchObject({ is_error: true });
    expect(result.toolOutputs[0].output).toMatch(/choices|question/);
  });
});

describe('a run that no person watches', () => {
  it.each<[string, () => Promise<{ client: Client; fields: Json }>]>([
    ['was started by a key', async () => ({ client: await service.key(ada, {}), fields: {} })],
    ['may not wait', async () => ({ client: ada.client, fields: { on_approval: 'refuse' } })],
    ['is to fail rather than wait', async () => ({ client: ada.client, fields: { on_approval: 'fail' } })],
  ])('is told to decide itself at once where it %s', async (_, who) => {
    const { client, fields } = await who();
    ground.model.reply([{ tools: [ask()] }, { text: 'I took SQLite.' }]);
    const sent = await client.post('/api/agent/message', { message: 'go', workspace_id, ...fields });
    const run = await ground.agent.ended(sent.body);
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.result.toolOutputs[0]).toMatchObject({ is_error: false });
    expect(run.result.toolOutputs[0].output).toContain('No one is asked in this run. Decide yourself');
  });

  it('asks all the same where its message says to wait', async () => {
    const key = await service.key(ada, {});
    ground.model.reply({ tools: [ask()] });
    const { body } = await key.post('/api/agent/message', {
      message: 'go',
      workspace_id,
      on_approval: 'wait',
    });
    await ground.agent.until(body, ({ event }) => event === 'question.asked');
    const { questions } = await status(body);
    ground.model.reply({ text: 'Done.' });
    expect((await answer(questions[0].id, { text: 'Neither' }, key)).status).toBe(200);
    await ground.agent.ended(body);
    expect(told()).toEqual(['Answer: Neither']);
  });
});

describe('who is asked', () => {
  it('is notified with a link, until it is answered', async () => {
    const { run, id } = await asking();
    const found = async () => {
      for (;;) {
        const { items } = (await ada.client.get('/api/notifications')).body;
        const one = items.find(({ data }: Json) => data.question_id === id);
        if (one) return one;
      }
    };
    expect(await found()).toMatchObject({
      type: 'run.question',
      link: `${service.url}/questions/${id}`,
      read_at: null,
      title: 'An agent asks you something in “Set it up”',
      body: expect.stringContaining(DATABASE.question),
    });
    ground.model.reply({ text: 'Done.' });
    await answer(id, { choices: ['SQLite'] });
    expect((await found()).read_at).not.toBeNull();
    await ground.agent.ended(run);
  });

  it('is reminded once, by a mail whose link takes the answer', async () => {
    const { run, id } = await asking();
    const mails = (count: number) => smtp.mailsTo(ada.email, count, `/questions/${id}`);
    const reminders = async () => {
      await settled(service, 'notifications', 'mail');
      const { items } = (await ada.client.get('/api/notifications?limit=200')).body;
      return items.filter(
        ({ type, data }: Json) => type === 'run.question_reminded' && data.question_id === id,
      );
    };
    const elapse = (part: number) =>
      service.database.query(
        `with moved as (
           update question set created_at = now() - interval '1 hour' * $2::float8, expires_at = now() + interval '1 hour' * (1 - $2::float8)
           where id = $1 returning id)
         select notify_topic('question-asked') from moved`,
        [id, part],
      );
    await mails(1);
    await elapse(0.4);
    expect(await reminders()).toEqual([]);
    await elapse(0.6);
    const reminder = (await mails(2))[1];
    expect(reminder?.text).toContain('An agent still waits for your answer');
    expect(reminder?.text).toContain(DATABASE.question);
    await elapse(0.95);
    const [link = ''] = /http:\S+\/questions\/[\w-]+/.exec(reminder?.text ?? '') ?? [];
    const browser = new Browser(service.url);
    const page = await browser.openAs(link, ada);
    ground.model.reply({ text: 'Done.' });
    const done = await browser.submit(page, '/answer', { choice: 'PostgreSQL' });
    expect(done.html).toContain('It is answered');
    await ground.agent.ended(run);
    expect(told()).toEqual(['Chosen: PostgreSQL']);
    expect(await reminders()).toEqual([expect.objectContaining({ read_at: expect.any(String) })]);
    expect(await mails(2)).toHaveLength(2);
  });

  it('answers on the page, where others look or find nothing', async () => {
    const { run, questions } = await asking([ask({ ...DATABASE, question: 'Which <b> is it?' })]);
    const { link } = questions[0] as Json;
    const visit = async (person: Person) => {
      const browser = new Browser(service.url);
      return { browser, page: await browser.openAs(link, person) };
    };
    expect((await visit(stranger)).page.status).toBe(404);
    const looked = await visit(viewer);
    expect(looked.page.html).toContain('Which &lt;b&gt; is it?');
    expect(looked.page.html).not.toContain('name="choice"');
    const { browser, page } = await visit(ada);
    expect(page.html).toContain('value="SQLite"');
    const empty = await browser.submit(page, '/answer', {});
    expect(empty).toMatchObject({
      status: 422,
      html: expect.stringContaining('Choose of PostgreSQL, SQLite'),
    });
    ground.model.reply({ text: 'Done.' });
    const done = await browser.submit(empty, '/answer', { choice: 'SQLite' });
    expect(done.html).toContain('It is answered');
    await ground.agent.ended(run);
    expect(told()).toEqual(['Chosen: SQLite']);
  });

  it.each(['legacy', { pin: '2026-07-28' }] as const)(
    'is asked in an MCP client that can ask, when it looks how the run stands (%j)',
    async mode => {
      const { run } = await asking([ask({ ...DATABASE, allow_text: false })]);
      const asked: Json[] = [];
      const client = new McpClient(
        { name: 'Desk', version: '1' },
        { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
      );
      client.setRequestHandler('elicitation/create', async ({ params }: Json) => {
        asked.push(params);
        return { action: 'accept', content: { choice: 'SQLite' } };
      });
      const { headers } = ada.client;
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }),
      );
      ground.model.reply({ text: 'Done.' });
      const { structuredContent } = (await client.callTool({
        name: 'run_status',
        arguments: { call_id: run.call_id, wait: 20 },
      })) as Json;
      await client.close();
      expect(asked).toHaveLength(1);
      expect(asked[0].message).toContain(DATABASE.question);
      expect(asked[0].requestedSchema).toMatchObject({
        required: ['choice'],
        properties: { choice: { enum: ['PostgreSQL', 'SQLite'] } },
      });
      expect(structuredContent.questions).toBeNull();
      await ground.agent.ended(run);
      expect(told()).toEqual(['Chosen: SQLite']);
    },
  );
});
