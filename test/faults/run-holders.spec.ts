import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunQueue } from '../../src/agents/runs/index.js';
import { Leases } from '../../src/platform/leases/index.js';
import { type AgentGround, startAgents } from '../harness/agent.js';

let ground: AgentGround;
let queue: RunQueue;
/** The process of the test, and another one that lives and has a row only. */
let own: string;
let other: string;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api' });
  queue = ground.service.app.get(RunQueue, { strict: false });
  own = ground.service.app.get(Leases, { strict: false }).processId;
  other = randomUUID();
  await ground.service.database.query(
    `insert into process (id, seen_at) values ($1, now() + interval '1 day')`,
    [other],
  );
}, 300_000);
afterAll(() => ground.stop());

/** A run that `holder` carries, in its first attempt. */
async function carriedBy(holder: string): Promise<string> {
  const { call_id } = await ground.agent.send('go');
  await ground.service.database.query(
    `update run set state = 'running', due = false, attempt = 1, started_at = now(), holder = $2 where id = $1`,
    [call_id, holder],
  );
  return call_id;
}

const standing = async (id: string) =>
  (
    await ground.service.database.query('select attempt, lost, state, holder from run where id = $1', [id])
  )[0];

it('leaves a run to the process that took it over, and takes its own for a new attempt', async () => {
  const [theirs, ours] = [await carriedBy(other), await carriedBy(own)];
  expect(await queue.reclaim(theirs)).toBeUndefined();
  expect(await standing(theirs)).toEqual({ attempt: 1, lost: 0, state: 'running', holder: other });
  expect(await queue.reclaim(ours)).toMatchObject({ id: ours, attempt: 2 });
  expect(await standing(ours)).toEqual({ attempt: 2, lost: 1, state: 'running', holder: own });
});

it('leaves a task to the process that took over the run above it', async () => {
  const above = await carriedBy(other);
  const { call_id: task } = await ground.agent.send('help');
  const put = (id: string) =>
    ground.service.database.query(
      'update run set parent_id = $2, depth = 1, due = false, holder = null where id = $1',
      [task, id],
    );
  await put(above);
  expect(await queue.claimTask(task)).toBeUndefined();
  expect(await standing(task)).toEqual({ attempt: 0, lost: 0, state: 'queued', holder: null });
  await put(await carriedBy(own));
  expect(await queue.claimTask(task)).toMatchObject({ id: task, attempt: 1 });
  expect(await standing(task)).toEqual({ attempt: 1, lost: 0, state: 'running', holder: own });
});

it('takes along what was said where that is all of the chat, and the attempt is the first', async () => {
  const { call_id: first, chat_id } = await ground.agent.send('Only words');
  const claimed = async (id: string) => (await queue.claim(100)).find(run => run.id === id);
  expect(await claimed(first)).toMatchObject({ said: [{ type: 'text', text: 'Only words' }] });
  expect(await queue.reclaim(first)).toMatchObject({ attempt: 2, said: null });

  const { call_id: second } = await ground.agent.send('More words', { chat_id });
  await ground.service.database.query(
    `update run set status = 'completed', state = 'done', holder = null, finished_at = now() where id = $1`,
    [first],
  );
  await ground.service.database.query('update run set due = true where id = $1', [second]);
  expect(await claimed(second)).toMatchObject({ attempt: 1, said: null });
});

it('takes nothing along where something else waits in the chat', async () => {
  const { call_id: first, chat_id } = await ground.agent.send('Only words');
  await ground.agent.send('More words', { chat_id });
  const claimed = (await queue.claim(100)).find(({ id }) => id === first);
  expect(claimed).toMatchObject({ attempt: 1, said: null });
});
