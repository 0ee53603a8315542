import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeReply, FakeRequest } from '../fakes/scripted-server.js';
import { type AgentGround, messagesOf, startAgents } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { Loops } from '../harness/loops.js';
import type { Person } from '../harness/service.js';

/** A call of either costs $0.10 for each 1,000 tokens that it answers. */
const PRICE = { price: { input: 0, output: 100 } };
const WORKER = 'local/worker';
const GRADER = 'local/grader';

let folder: string;
let ground: AgentGround;
let workspace: string;
let loops: Loops;
let editor: Person;
let viewer: Person;
let stranger: Person;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-prices-'));
  const MODEL_PRICES = path.join(folder, 'prices.json');
  writeFileSync(MODEL_PRICES, JSON.stringify({ [WORKER]: PRICE, [GRADER]: PRICE }));
  ground = await startAgents({
    ...{ OPENAI_COMPATIBLE_MODELS: 'worker,grader,unpriced', MODEL_PRICES, DEFAULT_MODEL: WORKER },
  });
  const { service, ada } = ground;
  workspace = await service.workspace(ada);
  loops = new Loops(ada.client, workspace);
  [editor, viewer, stranger] = [
    await service.person('Eve'),
    await service.person('Vera'),
    await service.person('Sam'),
  ];
  for (const [person, role] of [
    [editor, 'editor'],
    [viewer, 'viewer'],
  ] as const)
    await service.join(person, {
      ...{ organization: ada.organizationId, role: 'guest', workspace, workspaceRole: role },
    });
});
afterEach(() => ground.model.clear());
afterAll(async () => {
  await ground.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Answer = FakeReply | ((request: FakeRequest) => FakeReply);

/** Answers what agents and graders ask, each in its own order; what follows is answered as the last. */
function answers({ worker, grader = [] }: { worker: Answer[]; grader?: Answer[] }): {
  worker: FakeRequest[];
  grader: FakeRequest[];
} {
  const asked = { worker: [] as FakeRequest[], grader: [] as FakeRequest[] };
  ground.model.otherwise(request => {
    const who = request.body.model === 'grader' ? 'grader' : 'worker';
    const scripted = { worker, grader }[who];
    const reply = scripted[Math.min(asked[who].length, scripted.length - 1)] ?? { text: 'Done.' };
    asked[who].push(request);
    return typeof reply === 'function' ? reply(request) : reply;
  });
  return asked;
}

const textOf = (request: FakeRequest | undefined): string =>
  request
    ? messagesOf(request as never)
        .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
        .join('\n')
    : '';
const lastOf = (request: FakeRequest | undefined): string =>
  request ? String(messagesOf(request as never).at(-1)?.content) : '';
const write = (file: string, content: string): FakeReply => ({
  tool: { name: 'write_file', input: { path: file, content } },
});
const bash = (command: string): FakeReply => ({ tool: { name: 'bash', input: { command } } });
const done = (tokens = 5): FakeReply => ({ text: 'Done.', usage: { input: 10, output: tokens } });
const verdict = (met: Record<string, boolean>, tokens = 5): FakeReply => ({
  text: JSON.stringify({
    criteria: Object.entries(met).map(([id, is]) => ({ id, met: is, evidence: `evidence of ${id}` })),
    summary: 'Graded.',
  }),
  usage: { input: 10, output: tokens },
});
const CHECK = { check: { run: 'bash', code: 'grep -q ready result.txt' } };
const RUBRIC = { rubric: '- names a city\n- names a country', grader_model: GRADER };

describe('a loop', () => {
  it('is satisfied at the second iteration, with what was unmet told to the agent', async () => {
    const asked = answers({
      worker: [write('result.txt', 'not yet'), done(), write('result.txt', 'ready'), done()],
    });
    const started = await loops.start({ prompt: 'Make result.txt ready.', until: CHECK });
    expect(started).toMatchObject({ status: 'pending', state: 'waiting', outcome: null, iteration: 0 });
    const loop = await loops.ended(started);
    expect(loop).toMatchObject({
      ...{ status: 'completed', state: 'done', outcome: 'satisfied', iteration: 2, max_iterations: 5 },
      iterations: [
        { number: 1, stop_reason: 'end_turn', unmet: ['check'], checks: [{ kind: 'check', met: false }] },
        { number: 2, unmet: [], checks: [{ kind: 'check', met: true }] },
      ],
    });
    expect(loop.iterations[0].checks[0].detail).toContain('exit code 1');
    expect(lastOf(asked.worker[0])).toContain('Make result.txt ready.');
    expect(lastOf(asked.worker[2])).toMatch(/iteration 2 of at most 5[\s\S]*exit code 1/);
    expect(textOf(asked.worker[2])).toContain('Make result.txt ready.');
    const events = (await loops.events(loop)).map(({ event }) => event);
    expect(events).toEqual([
      ...['loop.created', 'iteration.started', 'iteration.ended', 'iteration.checked', 'iteration.graded'],
      ...['loop.waiting', 'iteration.started', 'iteration.ended', 'iteration.checked', 'iteration.graded'],
      'loop.finished',
    ]);
    const { body } = await loops.client.get(`/api/agent/runs?chat_id=${loop.chat_id}`);
    expect(body.items).toHaveLength(2);
  });
});
