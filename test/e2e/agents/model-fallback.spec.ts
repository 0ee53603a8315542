import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ModelSlots } from '../../../src/agents/models/index.js';
import { Database, DatabaseConnection, newId } from '../../../src/platform/database/index.js';
import { HeartbeatPool, Leases } from '../../../src/platform/leases/index.js';
import { Log } from '../../../src/platform/log/index.js';
import { Topics } from '../../../src/platform/topics/index.js';
import { FakeAnthropic } from '../../fakes/anthropic-server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, textOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const SONNET = 'anthropic/claude-sonnet-5-5';
const SMALL = 'local/small';
const NO_CREDIT = { status: 402, body: { error: { type: 'billing_error', message: 'No credit.' } } };

let local: FakeOpenAi;
let claude: FakeAnthropic;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  [local, claude] = await Promise.all([FakeOpenAi.start(), FakeAnthropic.start()]);
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: local.url,
    OPENAI_COMPATIBLE_MODELS: 'small,large',
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: claude.url,
    MODEL_CONCURRENCY: 'local=1',
  });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await Promise.all([local.stop(), claude.stop()]);
});

const record = async ({ call_id }: Json) => (await ada.client.get(`/api/agent/runs/${call_id}`)).body;
const settings = () => `/api/organizations/${ada.organizationId}/models`;

describe('a model that cannot answer', () => {
  it('gives way to the next one for the rest of the run, and the record tells both', async () => {
    const tool = { name: 'list_files', input: {} };
    claude.reply([{ text: 'Let me see.', tool, signature: 'c2ln', reasoning: 'Hm.' }, NO_CREDIT]);
    local.reply([{ tool }, { text: 'Here I am.' }]);
    const fields = { workspace_id, model: SONNET, fallback_models: [SMALL] };
    const sent = await agent.send('go', fields);
    expect(await agent.ended(sent)).toMatchObject({
      status: 'completed',
      model: SONNET,
      result: { response: 'Here I am.' },
    });
    expect(await record(sent)).toMatchObject({
      model: SONNET,
      fallback_models: [SMALL],
      model_used: 'small',
      steps: [{ model: SONNET }, { model: SMALL }, { model: SMALL }],
    });
    const events = await agent.events(sent);
    expect(events.find(({ event }) => event === 'model.fallback')?.data).toMatchObject({
      step: 2,
      from: SONNET,
      to: SMALL,
      message: expect.stringContaining('no credit left'),
    });
    expect(JSON.stringify(local.requests.at(-1)?.body)).not.toContain('c2ln');
    const entries = await service.database.query(
      'select model from usage_entry where run_id = $1 and kind = $2 order by step',
      [sent.call_id, 'model_call'],
    );
    expect(entries.map(({ model }: Json) => model)).toEqual([SONNET, SMALL, SMALL]);
  });

  it('leaves nothing of what it had begun to say', async () => {
    claude.reply({
      text: 'The wrong beginning',
      error: { type: 'billing_error', message: 'insufficient_quota' },
    });
    local.reply({ text: 'The right answer.' });
    const sent = await agent.send('go', { model: SONNET, fallback_models: [SMALL] });
    expect((await agent.ended(sent)).result.response).toBe('The right answer.');
    expect(textOf(await agent.events(sent))).toBe('The right answer.');
  });

  it('ends the run where no other may be used, and for what another could not do better', async () => {
    claude.reply([NO_CREDIT, { status: 401 }]);
    const fields = { model: SONNET, fallback_models: [SMALL] };
    expect(await agent.run('go', { model: SONNET })).toMatchObject({ error: { type: 'model_rate_limited' } });
    expect(await agent.run('go', fields)).toMatchObject({ error: { type: 'model_auth' } });
  });

  it('gives way as the organization says, where the message does not, to models that are enabled', async () => {
    const all = [SONNET, SMALL, 'local/large'];
    const unknown = await ada.client.put(settings(), { enabled: all, fallback: ['atelier/demo'] });
    expect(unknown).toMatchObject({ status: 422, body: { detail: expect.stringContaining('fallback') } });
    const { body } = await ada.client.put(settings(), { enabled: all, fallback: [SMALL, 'local/large'] });
    expect(body.fallback).toEqual([SMALL, 'local/large']);
    let go = () => {};
    const after = new Promise<void>(resolve => {
      go = resolve;
    });
    claude.reply({ ...NO_CREDIT, after });
    const from = claude.requests.length;
    const sent = await agent.send('go', { model: SONNET });
    await claude.received(from + 1);
    await ada.client.put(settings(), { enabled: [SONNET, 'local/large'] });
    local.reply({ text: 'Large.' });
    go();
    expect((await agent.ended(sent)).result.response).toBe('Large.');
    expect((await record(sent)).steps).toMatchObject([{ model: 'local/large' }]);
    const refused = await ada.client.post('/api/agent/message', {
      message: 'go',
      model: SONNET,
      fallback_models: [SMALL],
    });
    expect(refused).toMatchObject({
      status: 422,
      body: { detail: expect.stringMatching(/^fallback_models: /) },
    });
    await ada.client.put(settings(), { enabled: all, fallback: [], new_models: 'enabled' });
  });
});

describe('a provider that is asked one thing at a time', () => {
  it('lets others wait, who see it and can be stopped', async () => {
    let go = () => {};
    const after = new Promise<void>(resolve => {
      go = resolve;
    });
    local.reply([{ text: 'First.', after }, { text: 'Third.' }]);
    const from = local.requests.length;
    const first = await agent.send('first', { model: SMALL });
    await local.received(from + 1);
    const second = await agent.send('second', { model: SMALL });
    const waits = await agent.until(second, ({ event }) => event === 'step.waiting');
    expect(waits.data).toEqual({ step: 1, provider: 'local' });
    await ada.client.post('/api/agent/stop', { call_id: second.call_id });
    expect(await agent.ended(second)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    const third = await agent.send('third', { model: 'local/large' });
    await agent.until(third, ({ event }) => event === 'step.waiting');
    expect(local.requests.length).toBe(from + 1);
    go();
    expect((await agent.ended(first)).result.response).toBe('First.');
    expect((await agent.ended(third)).result.response).toBe('Third.');
  });

  describe('over several processes', () => {
    let elsewhere: { slots: ModelSlots; id: string; end: () => Promise<void> };
    let parts: [Database, Topics, Log];
    const never = new AbortController().signal;
    const from = (organizationId: string) => ({ provider: 'local', organizationId, limit: 1 });

    beforeAll(async () => {
      const [database, connection, log] = [Database, DatabaseConnection, Log].map(part =>
        service.app.get(part as never),
      ) as [Database, DatabaseConnection, Log];
      const topics = new Topics(connection, log);
      await topics.onApplicationBootstrap();
      const leases = new Leases(database, service.app.get(HeartbeatPool), topics, log);
      await leases.onApplicationBootstrap();
      const end = async () => {
        await leases.onApplicationShutdown();
        await topics.onApplicationShutdown();
      };
      elsewhere = { slots: new ModelSlots(database, topics, leases, log), id: leases.processId, end };
      parts = [database, topics, log];
    });
    afterAll(() => elsewhere.end());
    const slotsOf = (provider: string) =>
      service.database.query<{ holder: string }>(
        'select holder from model_slot where provider = $1 order by number',
        [provider],
      );

    it('waits for what another one asks', async () => {
      const leave = await elsewhere.slots.enter(from(ada.organizationId), never, () => undefined);
      local.reply({ text: 'At last.' });
      const asked = local.requests.length;
      const sent = await agent.send('go', { model: SMALL });
      await agent.until(sent, ({ event }) => event === 'step.waiting');
      expect(local.requests.length).toBe(asked);
      leave();
      leave();
      expect((await agent.ended(sent)).result.response).toBe('At last.');
    });

    it('takes turns among organizations, and forgets who gives up', async () => {
      const here = service.app.get(ModelSlots);
      const [busy, calm] = [newId(), newId()];
      const leave = await here.enter(from(busy), never, () => undefined);
      const order: string[] = [];
      const come = (slots: ModelSlots, name: string, organization: string, signal = never) => {
        const waits = Promise.withResolvers<void>();
        const done = slots.enter(from(organization), signal, waits.resolve).then(out => {
          order.push(name);
          out();
        });
        return { done, waits: waits.promise };
      };
      const gaveUp = new AbortController();
      const lost = come(elsewhere.slots, 'lost', busy, gaveUp.signal);
      await lost.waits;
      const all = [];
      for (const [slots, name, organization] of [
        [here, 'busy 1', busy],
        [elsewhere.slots, 'busy 2', busy],
        [here, 'busy 3', busy],
        [elsewhere.slots, 'calm 1', calm],
        [here, 'calm 2', calm],
      ] as const) {
        const one = come(slots, name, organization);
        await one.waits;
        all.push(one.done);
      }
      gaveUp.abort(new Error('Not any more'));
      await expect(lost.done).rejects.toThrow('Not any more');
      leave();
      await Promise.all(all);
      const turns = order.map(name => name.slice(0, 4));
      expect(turns.indexOf('calm')).toBeLessThan(2);
      expect(turns.lastIndexOf('calm')).toBeLessThan(4);
      expect(order.filter(name => name.startsWith('busy'))).toEqual(['busy 1', 'busy 2', 'busy 3']);
    });

    it('frees a place with the call that leaves it, before anybody clears up', async () => {
      const id = newId();
      await service.database.query(
        `insert into process (id, seen_at) values ($1, now() + interval '1 hour')`,
        [id],
      );
      // Of a process that never clears up.
      const [database, topics, log] = parts;
      const leases = Object.assign(new Leases(database, service.app.get(HeartbeatPool), topics, log), {
        processId: id,
      });
      const slots = new ModelSlots(database, topics, leases, log);
      const asked = { ...from(ada.organizationId), provider: 'left' };
      const leave = await slots.enter(asked, never, () => undefined);
      expect(await slotsOf('left')).toEqual([{ holder: id }]);
      leave();
      await slots.onApplicationShutdown();
      expect(await slotsOf('left')).toEqual([]);
      await service.database.query('delete from process where id = $1', [id]);
    });

    it('clears away what it holds no more, and nothing that another one holds', async () => {
      const here = service.app.get(ModelSlots);
      const own = service.app.get(Leases, { strict: false }).processId;
      const many = { ...from(ada.organizationId), provider: 'cleared', limit: 9 };
      const leaves = [
        await here.enter(many, never, () => undefined),
        await elsewhere.slots.enter(many, never, () => undefined),
      ];
      const forgotten = newId();
      await service.database.query(
        `insert into model_slot (id, provider, organization_id, holder, round, entered) values ($1, 'cleared', $2, $3, 0, true)`,
        [forgotten, ada.organizationId, own],
      );
      // Whoever clears it away would in the same statement take what the other one holds.
      while ((await service.database.query('select 1 from model_slot where id = $1', [forgotten])).length > 0)
        await sleep(50);
      expect(await slotsOf('cleared')).toEqual([{ holder: own }, { holder: elsewhere.id }]);
      for (const leave of leaves) leave();
    });

    it('frees what a lost one held', async () => {
      const [holder, id] = [newId(), newId()];
      await service.database.query(`insert into process (id, seen_at) values ($1, now())`, [holder]);
      await service.database.query(
        `insert into model_slot (id, provider, organization_id, holder, round, entered) values ($1, 'local', $2, $3, 0, true)`,
        [id, ada.organizationId, holder],
      );
      local.reply({ text: 'Freed.' });
      const sent = await agent.send('go', { model: SMALL });
      await agent.until(sent, ({ event }) => event === 'step.waiting');
      expect((await agent.ended(sent)).result.response).toBe('Freed.');
      expect(await service.database.query('select id from model_slot where id = $1', [id])).toEqual([]);
    });
  });
});
