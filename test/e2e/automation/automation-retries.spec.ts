import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';

let ground: AgentGround;
let own: Automations;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake' });
  own = new Automations(ground.ada.client, await ground.service.workspace(ground.ada));
});
afterEach(() => ground.model.clear());
afterAll(() => ground.stop());

const SOON = 'retries: { max: 5, backoff: 1s }\n';
const LATER = 'retries: { max: 5, backoff: 1h }\n';

/** A script that fails until it was begun so many times, and says each time which try it is. */
const failing = (name: string, times: number, matter: string) =>
  own.script(
    name,
    `echo "$ATELIER_ATTEMPT of $ATELIER_RUN_ID"\necho once >> ${name}.txt\n[ "$(wc -l < ${name}.txt)" -gt ${times} ]`,
    matter,
  );

async function read({ run_id }: Json): Promise<Json> {
  return (await own.client.get(`/api/automation/runs/${run_id}`)).body;
}

/** The run once its first try has failed and it waits for the next. */
async function betweenTries(run: Json): Promise<Json> {
  for (;;) {
    const now = await read(run);
    if (now.tries.length > 0) return now;
  }
}

const eventsOf = async ({ run_id }: Json) =>
  (
    await ground.service.database.query<{ type: string }>(
      "select type from automation_event where data ->> 'run_id' = $1 order by seq",
      [run_id],
    )
  ).map(({ type }) => type.replace('automation.run.', ''));

const FAILED = { stop_reason: 'script_failed', error: 'It ended with exit code 1', exit_code: 1 };

describe('a run that fails', () => {
  it('is tried again till it succeeds, as one run whose tries are all seen', async () => {
    const path = await failing('twice', 2, SOON);
    const { id } = await own.deploy(path);
    const run = await own.run(path);
    expect(run).toMatchObject({ status: 'completed', error: null, exit_code: 0, attempt: 3 });
    expect(run).toMatchObject({ next_try_at: null, replay_of: null });
    const times = { started_at: expect.any(String), finished_at: expect.any(String) };
    const ids = { chat_id: null, call_id: null };
    expect(run.tries).toEqual([1, 2].map(attempt => ({ attempt, ...FAILED, ...ids, ...times })));
    // One begins after the one before has ended, and later each time.
    const [first, second] = run.tries.map((one: Json) => Date.parse(one.finished_at));
    expect(Date.parse(run.tries[1].started_at) - first).toBeGreaterThanOrEqual(1000);
    expect(Date.parse(run.started_at) - second).toBeGreaterThanOrEqual(2000);
    const printed = (await own.client.events(`/api/automation/runs/${run.run_id}/events`)).slice(0, -1);
    expect(printed.map(({ data }) => data.text).join('')).toBe(
      [1, 2, 3].map(n => `${n} of ${run.run_id}\n`).join(''),
    );
    expect(await eventsOf(run)).toEqual([
      'queued',
      'started',
      'queued',
      'started',
      'queued',
      'started',
      'completed',
    ]);
    expect(await own.deployment(id)).toMatchObject({ failures_in_row: 0 });
    expect(await own.runs(`&deployment_id=${id}`)).toHaveLength(1);
  });

  it('has failed, once, when no try is left', async () => {
    const path = await failing('always', 10, 'retries: { max: 1, backoff: 1s }\n');
    const { id } = await own.deploy(path);
    const run = await own.run(path);
    expect(run).toMatchObject({ status: 'error', ...FAILED, attempt: 2, tries: [{ attempt: 1 }] });
    expect(await eventsOf(run)).toEqual(['queued', 'started', 'queued', 'started', 'failed']);
    expect(await own.deployment(id)).toMatchObject({ failures_in_row: 1 });
    expect(await own.fileText('always.txt')).toBe('once\nonce\n');
  });

  it('is tried again as a draft, too', async () => {
    const run = await own.run(await failing('draft', 1, SOON), { draft: true });
    expect(run).toMatchObject({ status: 'completed', attempt: 2, tries: [FAILED] });
  });

  it('is tried again with another agent, in a chat of its own', async () => {
    const matter = 'tools: [write_file]\nexpect: { files: ["report.md"] }\n';
    const path = await own.file('agent', matter + SOON, 'Write it.\n');
    await own.deploy(path);
    ground.model.reply([{ text: 'Done.' }]);
    ground.model.reply([
      { tool: { name: 'write_file', input: { path: 'report.md', content: 'All is well.' } } },
      { text: 'Written.' },
    ]);
    const run = await own.run(path);
    expect(run).toMatchObject({ status: 'completed', attempt: 2, output: { response: 'Written.' } });
    const [before] = run.tries;
    expect(before).toMatchObject({ stop_reason: 'expectation_failed', chat_id: expect.any(String) });
    expect(before.chat_id).not.toBe(run.chat_id);
    expect(before.call_id).not.toBe(run.call_id);

    const url = `/api/automation/runs/${run.run_id}/events`;
    const all = await own.client.events(url);
    expect(all.map(({ id }) => Number(id))).toEqual(all.map((_, at) => at + 1));
    const started = all.filter(({ event }) => event === 'run.started');
    expect(started.map(({ data }) => data.call_id)).toEqual([before.call_id, run.call_id]);
    expect(all.at(-1)).toMatchObject({ event: 'run.completed' });
    for (const after of [3, all.length - 2, all.length, all.length + 5])
      expect(await own.client.events(url, { headers: { 'last-event-id': String(after) } })).toEqual(
        all.slice(Math.min(after, all.length - 1)),
      );
  });
});

describe('a run that waits for its next try', () => {
  it('says when, is the one that others find there, and ends when it is cancelled', async () => {
    const path = await failing('waits', 1, `${LATER}concurrency: { policy: skip }\non:\n  - webhook: {}\n`);
    const { secrets } = await own.deploy(path);
    const send = async () => {
      const address = ground.service.url + new URL(secrets[0].url).pathname;
      const headers = { 'idempotency-key': 'the same' };
      return (await (await fetch(address, { method: 'POST', body: '{}', headers })).json()) as Json;
    };
    const { run_id } = await send();
    const waiting = await betweenTries({ run_id });
    expect(waiting).toMatchObject({ status: 'pending', state: 'queued', attempt: 2, tries: [FAILED] });
    const wait = Date.parse(waiting.next_try_at) - Date.parse(waiting.tries[0].finished_at);
    expect(wait).toBe(3_600_000);
    expect(await send()).toMatchObject({ run_id, status: 'pending', duplicate: true });
    expect((await own.ask('trigger', { file_path: path })).status).toBe(409);
    await own.client.post(`/api/automation/runs/${run_id}/cancel`);
    expect(await read({ run_id })).toMatchObject({ status: 'completed', stop_reason: 'stopped', attempt: 2 });
    expect(await own.fileText('waits.txt')).toBe('once\n');
  });
});

describe('is not tried again', () => {
  it('what took too long', async () => {
    const path = await own.script('slow', 'sleep 600', `${SOON}limits: { max_seconds: 1 }\n`);
    await own.deploy(path);
    expect(await own.run(path)).toMatchObject({ status: 'error', stop_reason: 'max_seconds', tries: [] });
  });

  it('what somebody ended', async () => {
    const path = await own.script('ended', 'sleep 600', SOON);
    await own.deploy(path);
    const run = await own.start(path);
    while ((await read(run)).state !== 'running');
    await own.client.post(`/api/automation/runs/${run.run_id}/cancel`);
    expect(await own.ended(run)).toMatchObject({ stop_reason: 'stopped', attempt: 1, tries: [] });
  });

  it('what a stopped deployment runs', async () => {
    const path = await own.script('stopped', 'until [ -e stop ]; do sleep 0.1; done; exit 1', SOON);
    await own.deploy(path);
    const run = await own.start(path);
    while ((await read(run)).state !== 'running');
    await own.stop(path);
    await own.write('stop', '');
    expect(await own.ended(run)).toMatchObject({ status: 'error', ...FAILED, attempt: 1, tries: [] });
  });

  it('what an agent may not go on with', async () => {
    const path = await own.file('costly', `${SOON}limits: { max_steps: 1 }\ntools: [read_file]\n`, 'Go.\n');
    await own.deploy(path);
    ground.model.otherwise({ tool: { name: 'read_file', input: { path } } });
    expect(await own.run(path)).toMatchObject({ status: 'error', stop_reason: 'max_steps', tries: [] });
  });
});
