import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type RunJournal, RunJournals } from '../../../src/agents/runs/index.js';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { brokenInvariants } from '../../harness/invariants.js';

let ground: AgentGround;
let workspace_id: string;
let recorded: string[] = [];

/** What records changes of files. */
const RECORDS = /insert into workspace_change/;
/** Whether the answer to a statement is to be lost. */
let isLost: (text: string) => boolean = () => false;

beforeAll(async () => {
  const query = pg.Client.prototype.query as (...all: unknown[]) => Promise<unknown>;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [statement] = given as [string | { text?: string }];
    const text = typeof statement === 'string' ? statement : (statement.text ?? '');
    const result = await query.apply(this, given);
    if (RECORDS.test(text)) recorded.push(text);
    if (isLost(text)) throw new Error('Connection terminated unexpectedly');
    return result;
  } as typeof pg.Client.prototype.query);
  ground = await startAgents();
});
beforeEach(async () => {
  workspace_id = await ground.service.workspace(ground.ada);
  recorded = [];
});
afterEach(async () => {
  isLost = () => false;
  expect(await brokenInvariants(ground.service.database)).toEqual({});
  // An attempt that is not the run's any more may end after the run.
  while ((await ground.service.database.query('select id from workspace_write')).length > 0) await sleep(20);
});
afterAll(async () => {
  await ground.stop();
  jest.restoreAllMocks();
});

const write = (path: string, content: string) => ({ tool: { name: 'write_file', input: { path, content } } });
const start = () => ground.agent.send('go', { workspace_id });
const put = (path: string, content: string) =>
  ground.ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path, content });

/** What is in the log, in its order. */
async function changes(): Promise<string[]> {
  const rows = await ground.service.database.query<Json>(
    'select kind, path, writer_type from workspace_change where workspace_id = $1 order by seq',
    [workspace_id],
  );
  return rows.map(({ kind, path, writer_type }) => `${kind} ${path} ${writer_type}`);
}

/** Holds the end of the next call until it is let go. */
function hold(): { reached: Promise<void>; go: () => void } {
  const [reached, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const run = { id: workspace_id, chat_id: workspace_id, number: '1', attempt: 1 };
  const journal = ground.service.app.get(RunJournals, { strict: false }).of(run);
  const prototype = Object.getPrototypeOf(journal) as RunJournal;
  const { finishCall } = prototype;
  jest.spyOn(prototype, 'finishCall').mockImplementationOnce(async function (this: RunJournal, ...given) {
    reached.resolve();
    await going.promise;
    return finishCall.apply(this, given);
  });
  return { reached: reached.promise, go: () => going.resolve() };
}

it('what a call wrote is in the log before the call has its result', async () => {
  const { reached, go } = hold();
  ground.model.reply([write('a.txt', 'A'), { text: 'Done.' }]);
  const run = await start();
  await reached;
  expect(await changes()).toEqual(['created a.txt run']);
  // There is nothing yet that it could merge into.
  expect(recorded[0]).not.toMatch(/merged as/);
  expect((await put('a.txt', 'B')).status).toBe(200);
  go();
  expect(await ground.agent.ended(run)).toMatchObject({ status: 'completed' });
  expect(await changes()).toEqual(['created a.txt run', 'modified a.txt user']);
});

it('what a call wrote is recorded once where the run is no longer this attempt’s', async () => {
  const { reached, go } = hold();
  ground.model.reply([write('a.txt', 'A'), { text: 'Done.' }]);
  const { call_id } = await start();
  await reached;
  await ground.service.database.query('update run set attempt = attempt + 1 where id = $1', [call_id]);
  go();
  // Another attempt goes on with it.
  await ground.service.database.query('update run set due = true, holder = null where id = $1', [call_id]);
  expect(await ground.agent.ended({ call_id })).toMatchObject({ status: 'completed' });
  while ((await changes()).length === 0) await sleep(20);
  expect(await changes()).toEqual(['created a.txt run']);
});

it('what a call wrote is recorded once where the answer to the statement is lost', async () => {
  let lost = false;
  isLost = text => {
    const isIt = !lost && RECORDS.test(text);
    lost ||= isIt;
    return isIt;
  };
  ground.model.reply([write('a.txt', 'A'), { text: 'Done.' }]);
  await ground.agent.ended(await start());
  expect(lost).toBe(true);
  expect(await changes()).toEqual(['created a.txt run']);
});

it('each write of a call is recorded, in the order of the writes', async () => {
  const tools = ['one', 'two'].map(content => write('b.txt', content).tool);
  ground.model.reply([{ tools }, { text: 'Done.' }]);
  expect(await ground.agent.ended(await start())).toMatchObject({ status: 'completed' });
  expect(recorded).toHaveLength(2);
  // The second is made at once with the first, by the same run.
  expect(await changes()).toEqual(['created b.txt run']);
});
