import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import type { FakeReply } from '../fakes/scripted-server.js';
import { type AgentClient, type AgentGround, messagesOf, startAgents } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { brokenInvariants } from '../harness/invariants.js';
import type { TestService } from '../harness/service.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let ground: AgentGround;
let model: FakeOpenAi;
let service: TestService;
let agent: AgentClient;
let workspace_id: string;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  ({ model, service, agent } = ground);
  workers = new Workers(ground);
  workspace_id = await service.workspace(ground.ada);
  const agents = path.join(service.dataDir, 'workspaces', workspace_id, '.agents');
  mkdirSync(agents, { recursive: true });
  writeFileSync(path.join(agents, 'helper.md'), '---\ndescription: Helps\ntools: ["*"]\n---\nHelp.');
}, PATIENCE);
afterEach(() => workers.stop(), PATIENCE);
afterAll(() => ground.stop(), PATIENCE);

const place = () => ({ workspace_id, model: 'local/small' });
const task = (prompt: string) => ({ name: 'task', input: { agent: 'helper', prompt } });
const bash = (command: string) => ({ name: 'bash', input: { command } });
const sends = (message: string) => `actions run agent_send '${JSON.stringify({ message })}'`;

/** Answers by what a conversation began with; the system prompt comes before it. */
function answer(replies: Record<string, (messages: Json[]) => FakeReply>): void {
  model.otherwise(request => {
    const messages = messagesOf(request);
    return replies[messages[1].content]?.(messages) ?? { text: 'Nothing to do.' };
  });
}
const isFirst = (messages: Json[]) => messages.length === 2;
const asked = (message: string) =>
  model.requests.filter(request => messagesOf(request)[1].content === message).length;
const tasksOf = ({ call_id }: Json) =>
  service.database.query('select id, status, attempt from run where parent_id = $1', [call_id]);

describe('when a worker is killed after a run has handed over a task', () => {
  /** Keeps tasks from being taken up while `work` is under way; what waited for that is undone. */
  async function beforeItIsCarried(work: () => Promise<void>): Promise<void> {
    const still = await Standstill.begin(service, {
      table: 'run',
      event: 'before update',
      when: 'new.parent_id is not null and old.attempt = 0 and new.attempt = 1',
    });
    try {
      await work();
      await still.reached();
      await workers.kill();
      await still.undo();
    } finally {
      await still.end();
    }
  }

  it(
    'and before that is carried, it is carried once, and the run has its answer',
    async () => {
      answer({
        'hand over': messages =>
          isFirst(messages) ? { tool: task('wait') } : { text: `It says: ${messages.at(-1).content}` },
        wait: () => ({ text: 'Carried.' }),
      });
      let sent: Json = {};
      await beforeItIsCarried(async () => {
        await workers.start();
        sent = await agent.send('hand over', place());
      });
      expect(await tasksOf(sent)).toMatchObject([{ status: 'pending', attempt: 0 }]);
      expect(asked('wait')).toBe(0);
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({
        status: 'completed',
        result: { response: 'It says: Carried.', toolOutputs: [{ output: 'Carried.' }] },
      });
      expect(await tasksOf(sent)).toMatchObject([{ status: 'completed', attempt: 1 }]);
      expect(asked('wait')).toBe(1);
      expect(await brokenInvariants(service.database)).toEqual({});
    },
    PATIENCE,
  );

  it(
    'through an action, and before that is carried, it is carried once, and the end of the run waits for it',
    async () => {
      answer({
        'send it': messages =>
          isFirst(messages) ? { tool: bash(`${sends('later')}; sleep 300`) } : { text: 'Sent.' },
        later: () => ({ text: 'Late.' }),
      });
      let sent: Json = {};
      await beforeItIsCarried(async () => {
        await workers.start();
        sent = await agent.send('send it', place());
      });
      expect(await tasksOf(sent)).toMatchObject([{ status: 'pending', attempt: 0 }]);
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({ status: 'completed', result: { response: 'Sent.' } });
      const [carried, ...others] = await tasksOf(sent);
      expect([carried, others]).toMatchObject([{ status: 'completed', attempt: 1 }, []]);
      expect((await agent.ended({ call_id: carried?.id })).result.response).toBe('Late.');
      expect(asked('later')).toBe(1);
      expect(await brokenInvariants(service.database)).toEqual({});
    },
    PATIENCE,
  );

  it(
    'while that is carried, it goes on from its last step, and the run has its answer',
    async () => {
      const append = 'echo x >> carried.txt; wc -l < carried.txt';
      answer({
        'hand on': messages =>
          isFirst(messages) ? { tool: task('work') } : { text: `It says: ${messages.at(-1).content}` },
        work: messages => {
          if (isFirst(messages)) return { tool: bash(append) };
          return isKilled
            ? { text: `${messages.at(-1).content.trim()} line` }
            : { text: 'Half', hangAfter: 1 };
        },
      });
      let isKilled = false;
      await workers.start();
      const sent = await agent.send('hand on', place());
      const { data } = await agent.until(sent, event => event.data.task_call_id !== undefined);
      await agent.until({ call_id: data.task_call_id }, ({ event }) => event === 'text.delta');
      isKilled = true;
      await workers.kill();
      await workers.start();
      expect(await agent.ended(sent)).toMatchObject({
        status: 'completed',
        result: { response: 'It says: 1 line' },
      });
      expect(await tasksOf(sent)).toMatchObject([{ status: 'completed', attempt: 2 }]);
      expect(await brokenInvariants(service.database)).toEqual({});
    },
    PATIENCE,
  );
});

it(
  'starts at the same instant, by whatever way and on whatever level, are no more than a run may have',
  async () => {
    const all = (message: string, count: number) =>
      bash(
        `for i in $(seq ${count}); do ${sends(message)} >> /tmp/out 2>&1 & done; wait; sleep 1; cat /tmp/out`,
      );
    answer({
      spread: messages =>
        isFirst(messages)
          ? { tools: [task('middle'), task('middle'), all('middle', 8), task('middle')] }
          : { text: 'Done.' },
      middle: messages =>
        isFirst(messages) ? { tools: [all('lowest', 4), task('lowest')] } : { text: 'Done.' },
      lowest: messages =>
        isFirst(messages) ? { tools: [all('below', 2), task('below')] } : { text: 'Done.' },
      below: () => ({ text: 'Too deep.' }),
    });
    await workers.start({ RUN_LIMITS: 'tasks=9,tasks_at_once=20,task_depth=2' });
    const ended = await agent.run('spread', place());
    expect(ended.status).toBe('completed');
    const rows = await service.database.query(
      `with recursive tree as (
         select id, depth from run where parent_id = $1
         union all select r.id, r.depth from run r join tree t on r.parent_id = t.id
       ) select depth from tree`,
      [ended.call_id],
    );
    expect(rows).toHaveLength(9);
    expect(Math.max(...rows.map(({ depth }) => depth))).toBeLessThanOrEqual(2);
    expect(asked('below')).toBe(0);
    expect(await brokenInvariants(service.database)).toEqual({});
  },
  PATIENCE,
);
