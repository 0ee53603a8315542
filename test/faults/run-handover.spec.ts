/** Runs that one process accepts and another one works on. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { AgentClient, type AgentGround, startAgents } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;
const DEMO = { model: 'atelier/demo' };

let ground: AgentGround;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  workers = new Workers(ground);
}, PATIENCE);
afterEach(() => workers.kill(), PATIENCE);
afterAll(() => ground.stop(), PATIENCE);

it(
  'ends one whose sender lost their key before a worker had it',
  async () => {
    const { ada, agent, service } = ground;
    const worker = await workers.start();
    expect(await agent.run('hello', DEMO)).toMatchObject({ status: 'completed' });
    const { body: key } = await ada.client.post('/api/keys', { name: 'short-lived' });
    const program = new AgentClient(service.stranger.with({ 'x-api-key': key.api_key }));
    expect(await program.run('hello', DEMO)).toMatchObject({ status: 'completed' });
    worker.pause();
    const run = await program.send('hello', DEMO);
    await ada.client.delete(`/api/keys/${key.id}`);
    worker.resume();
    expect(await agent.ended(run)).toMatchObject({
      status: 'error',
      error: { type: 'authority_lost', message: expect.stringContaining('has been revoked') },
    });
  },
  PATIENCE,
);

it(
  'are worked on by another worker where the first that is notified does not answer',
  async () => {
    const { agent } = ground;
    const stuck = await workers.start();
    await workers.start();
    // Each has its turn, and is known to listen.
    for (let number = 0; number < 4; number++)
      expect(await agent.run('hello', DEMO)).toMatchObject({ status: 'completed' });
    stuck.pause();
    const runs = [];
    for (let number = 0; number < 4; number++) runs.push(await agent.send('hello', DEMO));
    for (const run of runs)
      expect(await agent.ended(run)).toMatchObject({ status: 'completed', stop_reason: 'end_turn' });
    const attempts = await ground.service.database.query(
      'select distinct attempt from run where id = any($1)',
      [runs.map(({ call_id }) => call_id)],
    );
    expect(attempts).toEqual([{ attempt: 1 }]);
  },
  PATIENCE,
);

it(
  'are worked on though the queue has lost them',
  async () => {
    const { agent, service } = ground;
    const worker = await workers.start();
    expect(await agent.run('hello', DEMO)).toMatchObject({ status: 'completed' });
    worker.pause();
    const runs = [await agent.send('hello', DEMO), await agent.send('hello', DEMO)];
    for (let known = 0; known < runs.length; )
      known = (await service.database.query("select from bullmq.job where queue = 'runs'")).length;
    await service.database.query('truncate bullmq.job cascade');
    worker.resume();
    for (const run of runs) expect(await agent.ended(run)).toMatchObject({ status: 'completed' });
  },
  PATIENCE,
);

it(
  'are worked on by a worker that has room while another one has none',
  async () => {
    const { agent, model, service } = ground;
    const busy = await workers.start({ RUN_CONCURRENCY: '1' });
    const { promise: after, resolve: open } = Promise.withResolvers<void>();
    const asked = model.requests.length;
    model.reply([{ text: 'Long.', after }, { text: 'Short.' }]);
    const long = await agent.send('long');
    await model.received(asked + 1);
    const holder = async ({ call_id }: Json) =>
      (await service.database.query('select holder from run where id = $1', [call_id]))[0]?.holder;
    const first = await holder(long);
    const short = await agent.send('short');
    await workers.start({ RUN_CONCURRENCY: '1' });
    expect(await agent.ended(short)).toMatchObject({ status: 'completed' });
    expect(await holder(long)).toBe(first);
    open();
    expect(await agent.ended(long)).toMatchObject({ status: 'completed' });
    expect(busy.errors).toEqual([]);
  },
  PATIENCE,
);
