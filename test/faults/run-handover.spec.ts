/** Runs that one process accepts and another one works on. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { AgentClient, type AgentGround, startAgents } from '../harness/agent.js';
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
