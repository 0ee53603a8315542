import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../harness/agent.js';
import { brokenInvariants } from '../harness/invariants.js';
import { allGone, oneThere } from './processes.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let ground: AgentGround;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  workers = new Workers(ground);
}, PATIENCE);
afterEach(() => workers.kill(), PATIENCE);
afterAll(() => ground.stop(), PATIENCE);

it(
  'a process that stands still for longer than its lease loses its runs, and writes nothing when it wakes',
  async () => {
    const { model, agent, service, ada } = ground;
    const workspace_id = await service.workspace(ada);
    const still = await workers.start();
    const marker = `sleep ${8_000_000 + process.pid}`;
    const { promise: late, resolve: answerLate } = Promise.withResolvers<void>();
    const from = model.requests.length;
    model.reply([
      { tool: { name: 'bash', input: { command: `echo begun; ${marker}` } } },
      { text: 'Too late.', after: late },
      { text: 'In time.' },
      { text: 'In time.' },
    ]);
    const commanding = await agent.send('run it', { workspace_id });
    await agent.until(commanding, ({ event }) => event === 'tool.output');
    await oneThere(marker);
    const answering = await agent.send('answer');
    await model.received(from + 2);
    still.pause();
    await workers.start();
    for (const run of [commanding, answering])
      expect(await agent.ended(run)).toMatchObject({ status: 'completed', result: { response: 'In time.' } });
    const before = [await agent.events(commanding), await agent.events(answering)];
    still.resume();
    answerLate();
    await allGone(marker, PATIENCE);
    // It works on, with leases anew.
    model.otherwise({ text: 'Next.' });
    const next = await Promise.all(Array.from({ length: 20 }, () => agent.run('next')));
    expect(next.map(({ result }) => result.response)).toEqual(Array(20).fill('Next.'));
    expect([await agent.events(commanding), await agent.events(answering)]).toEqual(before);
    expect(await brokenInvariants(service.database)).toEqual({});
    expect(still.isRunning).toBe(true);
  },
  PATIENCE,
);
