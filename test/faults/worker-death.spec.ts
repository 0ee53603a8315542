import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import { type AgentClient, type AgentGround, messagesOf, startAgents, textOf } from '../harness/agent.js';
import { Client, type Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import type { Person, TestService } from '../harness/service.js';
import { allGone, oneThere } from './processes.js';
import { RedisProcess } from './redis-process.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

describe.each(['PostgreSQL', 'Redis'])('with the queue in %s', queue => {
  let redis: RedisProcess | undefined;
  let ground: AgentGround;
  let model: FakeOpenAi;
  let service: TestService;
  let ada: Person;
  let agent: AgentClient;
  let workspace_id: string;
  /** They take seconds to start: a worker that a test leaves running is the first one of the next. */
  let workers: Workers;

  beforeAll(async () => {
    redis = queue === 'Redis' ? await RedisProcess.start() : undefined;
    ground = await startAgents({
      ROLE: 'api',
      OPENAI_COMPATIBLE_MODELS: 'small',
      ...(redis ? { REDIS_URL: redis.url } : {}),
    });
    ({ model, service, ada, agent } = ground);
    workers = new Workers(ground);
    workspace_id = await service.workspace(ada);
  }, PATIENCE);

  afterAll(async () => {
    await workers.stop();
    await ground.stop();
    await redis?.stop();
  });

  const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);
  const attemptOf = async ({ call_id }: Json) =>
    (await service.database.query('select attempt, lost from run where id = $1', [call_id]))[0];

  let markers = 0;
  /** A command that leaves a line in a file and then takes for ever, and the marker of its process. */
  function endless() {
    const marker = `sleep ${7_000_000 + process.pid * 10 + ++markers}`;
    return {
      marker,
      tool: { name: 'bash', input: { command: `echo x >> ${markers}.txt; echo begun; ${marker}` } },
    };
  }

  it(
    'does a run from its beginning to its end',
    async () => {
      const worker = await workers.start();
      const run = await agent.run('write hello.txt: hi\nrun cat hello.txt', {
        workspace_id,
        model: 'atelier/demo',
      });
      expect(run.result.toolOutputs.at(-1)).toMatchObject({ tool: 'bash', output: 'hi' });
      expect(await attemptOf(run)).toEqual({ attempt: 1, lost: 0 });
      expect(await worker.stop()).toBe(0);
      expect(worker.errors).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'goes on after a worker was killed in the middle of a command, which is not repeated',
    async () => {
      const first = await workers.single();
      const { marker, tool } = endless();
      const from = model.requests.length;
      const after = { name: 'bash', input: { command: 'pwd' } };
      model.reply([{ text: 'Working.', tool }, { tool: after }, { tool: after }, { text: 'Recovered.' }]);
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'tool.output');
      await oneThere(marker);
      await first.kill();
      await allGone(marker);
      await workers.start();
      const run = await agent.ended(sent);
      expect(run).toMatchObject({ status: 'completed', result: { response: 'Recovered.' } });
      expect(run.result.toolOutputs).toMatchObject([
        { is_error: true, output: expect.stringMatching(/^Interrupted:/) },
        { output: expect.stringMatching(/^\(The sandbox ended .* a new one starts .*\)\n\/workspace$/) },
        { output: '/workspace' },
      ]);
      const told = messagesOf(model.requests[from + 1] ?? { body: {} }).at(-1);
      expect(told.content).toMatch(/^Interrupted: .* check before you repeat it/);
      expect(readFileSync(inWorkspace(`${markers}.txt`), 'utf8')).toBe('x\n');
      expect(await attemptOf(run)).toEqual({ attempt: 2, lost: 1 });
      const events = await agent.events(sent);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    },
    PATIENCE,
  );

  it(
    'tells the model that a command in the background is gone with its worker, and where its output is',
    async () => {
      const first = await workers.single();
      const { marker, tool } = endless();
      const from = model.requests.length;
      const output = { name: 'bash_output', input: { id: 'c1' } };
      model.reply([
        { tool: { name: 'bash', input: { ...tool.input, run_in_background: true } } },
        { tool: { name: 'bash', input: { command: 'echo waiting; sleep 600' } } },
        { tool: output },
        { text: 'Gone.' },
      ]);
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event, data }) => event === 'tool.output' && data.text.includes('waiting'));
      await oneThere(marker);
      await first.kill();
      await allGone(marker);
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({ status: 'completed', result: { response: 'Gone.' } });
      const told = messagesOf(model.requests[from + 3] ?? { body: {} }).at(-1)?.content;
      expect(told).toMatch(/^The command c1 ended with the sandbox of this run when the run was interrupted/);
      const file = /\.atelier\/output\/\S+\.txt/.exec(told)?.[0] ?? '';
      expect(readFileSync(inWorkspace(file), 'utf8')).toBe('begun\n');
    },
    PATIENCE,
  );

  if (queue === 'Redis') return;

  it(
    'asks the model again after a worker was killed while it answered',
    async () => {
      const first = await workers.single();
      model.reply([{ text: 'Half of the', hangAfter: 2 }, { text: 'The whole answer.' }]);
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'text.delta');
      await first.kill();
      await workers.start();
      const run = await agent.ended(sent);
      expect(run.result.response).toBe('The whole answer.');
      expect(textOf(await agent.events(sent))).toBe('The whole answer.');
    },
    PATIENCE,
  );

  it(
    'makes a summary again after a worker was killed while it made it',
    async () => {
      const first = await workers.single();
      const error = { code: 'context_length_exceeded', message: 'maximum context length' };
      const tooLong = { status: 400, body: { error } };
      model.reply({ text: 'ok' });
      const { chat_id } = await agent.run(`Remember the egret. ${'more '.repeat(2_000)}`);
      const from = model.requests.length;
      model.reply([tooLong, { hang: true }, tooLong, { text: 'Egrets.' }, { text: 'Recovered.' }]);
      const sent = await agent.send('go', { chat_id });
      await model.received(from + 2);
      await first.kill();
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({
        status: 'completed',
        result: { response: 'Recovered.' },
      });
      const { body } = await ada.client.get(`/api/agent/runs/${sent.call_id}`);
      expect(body).toMatchObject({ attempts: 2, compactions: [{ step: 1 }] });
    },
    PATIENCE,
  );

  it(
    'lets a message enter that was sent before a worker was killed, and one that had entered only once',
    async () => {
      const first = await workers.single();
      const from = model.requests.length;
      model.reply([{ text: 'Half', hangAfter: 1 }]);
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'text.delta');
      const steered = await agent.send('this too', { chat_id: sent.chat_id, delivery: 'steer' });
      await first.kill();
      model.reply([{ text: 'One.', hangAfter: 0 }]);
      const second = await workers.start();
      await agent.until(sent, ({ event }) => event === 'message.injected');
      await model.received(from + 2);
      await second.kill();
      model.reply([{ text: 'Both.' }]);
      await workers.start();
      expect((await agent.ended(sent)).result.response).toBe('Both.');
      expect(await agent.ended(steered)).toMatchObject({
        result: { response: 'Both.' },
        injected_into: { call_id: sent.call_id, step: 1 },
      });
      const prompts = model.requests.slice(from + 1).map(request => messagesOf(request).slice(1));
      for (const prompt of prompts) expect(prompt.map(({ content }) => content)).toEqual(['go', 'this too']);
      const events = await agent.events(sent);
      expect(events.filter(({ event }) => event === 'message.injected')).toHaveLength(1);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    },
    PATIENCE,
  );

  it(
    'lets a run wait for an approval without a worker, and makes the call once that was allowed',
    async () => {
      await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
      const first = await workers.single();
      const { marker, tool } = endless();
      const file = `${markers}.txt`;
      model.reply([{ tool }]);
      const sent = await agent.send('go', { workspace_id });
      const asked = await agent.until(sent, ({ event }) => event === 'approval.requested');
      await first.kill();
      const second = await workers.start();
      const allowed = await ada.client.post(`/api/agent/approvals/${asked.data.approval_id}`, {
        decision: 'allow',
      });
      expect(allowed.status).toBe(200);
      await agent.until(sent, ({ event }) => event === 'tool.output');
      expect(await attemptOf(sent)).toEqual({ attempt: 2, lost: 0 });
      await second.kill();
      await allGone(marker);
      model.reply([{ text: 'Recovered.' }]);
      await workers.start();
      const run = await agent.ended(sent);
      expect(run.result).toMatchObject({
        response: 'Recovered.',
        toolOutputs: [{ is_error: true, output: expect.stringMatching(/^Interrupted:/) }],
      });
      expect(readFileSync(inWorkspace(file), 'utf8')).toBe('x\n');
      await service.database.query(
        "delete from approval_policy returning notify_topic('approval-policy:' || workspace_id)",
      );
    },
    PATIENCE,
  );

  it(
    'ends when told to, finishes what is short and hands the rest to another worker',
    async () => {
      await workers.stop();
      const first = await workers.start({ DRAIN_SECONDS: '20' });
      const { marker, tool } = endless();
      let go = () => {};
      const after = new Promise<void>(resolve => {
        go = resolve;
      });
      model.otherwise(request => {
        const messages = messagesOf(request);
        if (messages[1].content === 'short') return { text: 'Short.', after };
        return messages.length > 2 ? { text: 'Long.' } : { tool };
      });
      const from = model.requests.length;
      const [short, long] = [
        await agent.send('short', { workspace_id }),
        await agent.send('long', { workspace_id }),
      ];
      await agent.until(long, ({ event }) => event === 'tool.output');
      await model.received(from + 2);
      const stopped = first.stop();
      go();
      expect((await agent.ended(short)).result.response).toBe('Short.');
      expect(await stopped).toBe(0);
      expect(first.errors).toEqual([]);
      await allGone(marker);
      const { body: waiting } = await ada.client.get(`/api/agent/status/${long.call_id}`);
      expect(waiting).toMatchObject({ status: 'pending', state: 'queued' });
      await workers.start();
      const run = await agent.ended(long);
      expect(run.result).toMatchObject({
        response: 'Long.',
        toolOutputs: [{ is_error: true, output: expect.stringMatching(/^Interrupted:/) }],
      });
      expect(await attemptOf(short)).toEqual({ attempt: 1, lost: 0 });
      expect(await attemptOf(long)).toEqual({ attempt: 2, lost: 0 });
    },
    PATIENCE,
  );

  it(
    'gives up a run over which too many workers were lost',
    async () => {
      const first = await workers.single();
      model.reply({ hang: true });
      const from = model.requests.length;
      const sent = await agent.send('go', { workspace_id });
      await model.received(from + 1);
      await first.kill();
      await service.database.query('update run set lost = 4 where id = $1', [sent.call_id]);
      const next = await agent.send('list', { chat_id: sent.chat_id, model: 'atelier/demo' });
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({
        status: 'error',
        error: { type: 'worker_lost', message: expect.stringContaining('5 times') },
      });
      expect((await agent.ended(next)).status).toBe('completed');
    },
    PATIENCE,
  );

  it(
    'ends a run quietly when its chat is deleted',
    async () => {
      await workers.stop();
      const worker = await workers.start();
      const { marker, tool } = endless();
      model.reply({ tool });
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'tool.output');
      await ada.client.delete(`/api/chats/${sent.chat_id}`);
      await allGone(marker);
      expect((await agent.run('list', { workspace_id, model: 'atelier/demo' })).status).toBe('completed');
      expect(await worker.stop()).toBe(0);
      expect(worker.errors).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'shares fifty runs between two workers, each exactly once',
    async () => {
      await workers.stop();
      const both = await Promise.all([workers.start(), workers.start()]);
      const sent = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          agent.send(`run echo ${n} >> shared.txt`, { workspace_id, model: 'atelier/demo' }),
        ),
      );
      const runs = await Promise.all(sent.map(one => agent.ended(one)));
      expect(runs.filter(({ status }) => status !== 'completed')).toEqual([]);
      const lines = readFileSync(inWorkspace('shared.txt'), 'utf8').trim().split('\n').map(Number);
      expect(lines.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
      expect(
        await service.database.query('select 1 from run where attempt > 1 and id = any($1)', [
          sent.map(({ call_id }) => call_id),
        ]),
      ).toEqual([]);
      for (const worker of both) expect(worker.errors).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'sends those who watch elsewhere when an API process ends, and they miss nothing',
    async () => {
      await workers.single();
      const port = await freePort();
      const api = await workers.start({ ROLE: 'api', PORT: `${port}` });
      let go = () => {};
      const after = new Promise<void>(resolve => {
        go = resolve;
      });
      model.reply([
        { text: 'One. ', tool: { name: 'list_files', input: {} } },
        { text: 'Two.', after },
      ]);
      const sent = await agent.send('go', { workspace_id });
      const url = `/api/agent/runs/${sent.call_id}/events`;
      const elsewhere = new Client(`http://127.0.0.1:${port}`, ada.client.headers);
      const response = await elsewhere.raw('GET', url);
      const chatUrl = `/api/chats/${sent.chat_id}/events`;
      const ofChat = await elsewhere.raw('GET', chatUrl);
      const waiting = elsewhere.get(`/api/agent/status/${sent.call_id}?wait=60`);
      await agent.until(sent, ({ event, data }) => event === 'step.started' && data.step === 2);
      expect(await api.stop()).toBe(0);
      const text = await response.text();
      expect(text).toContain('\nretry: 1000\n');
      expect((await waiting).body.status).toBe('pending');
      go();
      const seen = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
      const rest = await ada.client.events(url, { headers: { 'last-event-id': `${seen.at(-1)}` } });
      const all = [...seen, ...rest.map(({ id }) => id)];
      expect(all).toEqual(all.map((_, index) => index + 1));
      expect(rest.at(-1)?.event).toBe('run.completed');
      const before = [...(await ofChat.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
      const following = await ada.client.events(chatUrl, {
        headers: { 'last-event-id': `${before.at(-1)}` },
        until: ({ event }) => event === 'run.completed',
      });
      expect([...before, ...following.map(({ id }) => id)]).toEqual(all);
    },
    PATIENCE,
  );
});
