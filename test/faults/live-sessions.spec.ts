import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type Json, type StreamEvent } from '../harness/client.js';
import { createParser } from '../harness/event-stream.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { allGone, oneThere } from './processes.js';
import type { ServiceProcess } from './service-process.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let service: TestService;
let ada: Person;
let processes: Workers;
let workspace: string;
/** Another process on the same database and files, and who speaks to it; the test's own process is `ada.client`. */
let other: ServiceProcess;
let there: Client;
let markers = 0;

beforeAll(async () => {
  service = await TestService.start({ SANDBOX_LIMITS: 'workspace=30' });
  ada = await service.person();
  processes = new Workers({ service, environment: { SANDBOX_LIMITS: 'workspace=30' } });
  await startOther();
}, PATIENCE);
afterEach(async () => {
  if (!other.isRunning) return startOther();
  for (const { id } of await list(ada.client)) await ada.client.delete(`${sandboxes()}/${id}`);
  // One that still ends would count among those of the next test.
  while ((await list(ada.client)).length > 0) await sleep(20);
}, PATIENCE);
afterAll(async () => {
  await processes.kill();
  await service.stop();
}, PATIENCE);

async function startOther(): Promise<void> {
  workspace = await service.workspace(ada);
  const port = await freePort();
  other = await processes.start({ ROLE: 'api', PORT: `${port}` });
  there = new Client(`http://127.0.0.1:${port}`, ada.client.headers);
}

const sandboxes = () => `/api/workspaces/${workspace}/sandboxes`;
const list = async (client: Client): Promise<Json[]> => (await client.get(sandboxes())).body.items;
const bash = (client: Client, session: string, command: string) =>
  client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command }, session });
const done = async (client: Client, session: string, command: string): Promise<Json> => {
  const { status, body } = await bash(client, session, command);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
};
/** Resolves when no call is left behind. */
async function noCalls(): Promise<void> {
  while ((await service.database.query('select 1 from rpc_call')).length > 0) await sleep(20);
}

/** A command that takes for ever, known by its marker. */
const endless = () => `sleep ${9_000_000 + process.pid * 10 + ++markers}`;

/** Runs a command whose client reads its events one by one. */
async function stream(client: Client, session: string, command: string) {
  const leaving = new AbortController();
  const response = await client.raw('POST', `/api/workspaces/${workspace}/tools/bash`, {
    body: JSON.stringify({ input: { command }, session }),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    signal: leaving.signal,
  });
  const parser = createParser();
  const chunks = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const events: StreamEvent[] = [];
  const next = async (): Promise<StreamEvent> => {
    for (let event = events.shift(); ; event = events.shift()) {
      if (event) return event;
      const { value, done } = await chunks.next();
      if (done) throw new Error('the stream ended');
      events.push(...parser(value));
    }
  };
  return { next, leave: () => leaving.abort() };
}

describe('a named session that another process has', () => {
  it('is used, listed and ended through this one', async () => {
    expect(await done(there, 'build', 'mkdir app; cd app; x=1')).toMatchObject({ new_session: true });
    expect(await done(ada.client, 'build', 'pwd; echo $((x += 1))')).toMatchObject({
      output: '/workspace/app\n2',
      is_error: false,
      new_session: false,
    });
    expect((await done(there, 'build', 'echo $x')).output).toBe('2');
    const [shown, ...others] = await list(ada.client);
    expect([shown.name, others]).toEqual(['build', []]);
    expect((await ada.client.delete(`${sandboxes()}/${shown.id}`)).status).toBe(200);
    while ((await list(ada.client)).length > 0) await sleep(20);
    expect(await done(ada.client, 'build', 'pwd; echo [$x]')).toMatchObject({
      output: '/workspace\n[]',
      new_session: true,
    });
    // Now it is here.
    expect(await done(there, 'build', 'pwd')).toMatchObject({ output: '/workspace', new_session: false });
  });

  it('runs what comes through all processes at once one after the other', async () => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, number) =>
        done(number % 2 ? there : ada.client, 'at-once', 'n=$((n + 1)); sleep 0.05; echo $n'),
      ),
    );
    expect(results.map(({ output }) => Number(output)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, number) => number + 1),
    );
    expect(results.filter(({ new_session }) => new_session)).toHaveLength(1);
  });

  it('gives its output while the command runs, byte for byte', async () => {
    await done(there, 'talk', 'true');
    const file = path.join(service.dataDir, 'workspaces', workspace, 'go');
    const { next } = await stream(
      ada.client,
      'talk',
      'echo begun; until [ -e go ]; do sleep 0.02; done; printf \'é\\0%s\' "$(seq 20000)"',
    );
    expect(await next()).toMatchObject({ event: 'tool.output', data: { text: 'begun\n' } });
    writeFileSync(file, '');
    let text = '';
    for (let event = await next(); ; event = await next()) {
      if (event.event === 'tool.finished') {
        expect(event.data).toMatchObject({ is_error: false, new_session: false });
        break;
      }
      text += event.data.text;
    }
    expect(text).toBe(`é\0${Array.from({ length: 20_000 }, (_, number) => number + 1).join('\n')}`);
  });

  it('has a command killed whose client leaves', async () => {
    await done(there, 'leave', 'x=1');
    const marker = endless();
    const { next, leave } = await stream(ada.client, 'leave', `echo begun; ${marker}`);
    await next();
    await oneThere(marker);
    leave();
    await allGone(marker, PATIENCE);
    await noCalls();
  });

  it('counts among the eight that a caller may have', async () => {
    for (let number = 0; number < 8; number++)
      await done(number % 2 ? there : ada.client, `${number}`, 'true');
    const refused = await bash(ada.client, 'ninth', 'true');
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('8 sessions')]);
    expect((await done(ada.client, '1', 'true')).new_session).toBe(false);
  });

  it('is nobody else’s', async () => {
    const eve = await service.person('Eve');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'editor' };
    await service.join(eve, place);
    await done(there, 'mine', 'secret=1');
    expect(await done(eve.client, 'mine', 'echo [$secret]')).toMatchObject({
      output: '[]',
      new_session: true,
    });
  });

  it('refuses as it would here', async () => {
    await done(there, 'small', 'true');
    await service.database.query(`update workspace set features_off = '{sandbox}' where id = $1`, [
      workspace,
    ]);
    const [here, elsewhere] = [await bash(there, 'small', 'true'), await bash(ada.client, 'small', 'true')];
    await service.database.query(`update workspace set features_off = '{}' where id = $1`, [workspace]);
    expect([elsewhere.status, elsewhere.body]).toEqual([here.status, here.body]);
  });
});

describe('a session whose process', () => {
  it('was killed begins anew', async () => {
    await done(there, 'lost', 'x=1');
    await other.kill();
    expect(await done(ada.client, 'lost', 'echo [$x]')).toMatchObject({ output: '[]', new_session: true });
  });

  it('is killed while a command runs says so, and begins anew', async () => {
    await done(there, 'lost', 'x=1');
    const marker = endless();
    const running = done(ada.client, 'lost', marker);
    await oneThere(marker);
    await other.kill();
    expect(await running).toMatchObject({
      is_error: true,
      output: expect.stringMatching(/^The session ended with the process .* begins a new session\.$/),
    });
    await allGone(marker);
    expect(await done(ada.client, 'lost', 'echo [$x]')).toMatchObject({ output: '[]', new_session: true });
    await noCalls();
  });

  it(
    'stands still says so when it has lost its lease, and begins anew',
    async () => {
      await done(there, 'still', 'x=1');
      const marker = endless();
      const running = done(ada.client, 'still', marker);
      await oneThere(marker);
      other.pause();
      expect(await running).toMatchObject({
        is_error: true,
        output: expect.stringContaining('session ended'),
      });
      expect(await done(ada.client, 'still', 'echo [$x]')).toMatchObject({ output: '[]', new_session: true });
      other.resume();
      await allGone(marker, PATIENCE);
      expect(await done(there, 'still', 'echo [$x]')).toMatchObject({ output: '[]', new_session: false });
    },
    PATIENCE,
  );

  it('is told to stop ends the command, and begins anew', async () => {
    await done(there, 'stopped', 'x=1');
    const before = other.errors;
    const marker = endless();
    const running = done(ada.client, 'stopped', marker);
    await oneThere(marker);
    expect(await other.stop()).toBe(0);
    expect(await running).toMatchObject({ is_error: true });
    expect(await done(ada.client, 'stopped', 'echo [$x]')).toMatchObject({ output: '[]', new_session: true });
    expect(other.errors).toEqual(before);
  });

  it('calls for a command and is killed has it killed', async () => {
    await done(ada.client, 'here', 'x=1');
    const marker = endless();
    const unanswered = bash(there, 'here', marker).catch(() => undefined);
    await oneThere(marker);
    await other.kill();
    await unanswered;
    await allGone(marker, PATIENCE);
  });
});
