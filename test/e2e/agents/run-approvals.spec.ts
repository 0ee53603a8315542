import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentCrew, startCrew } from '../../harness/agent.js';
import { Browser, type Visit } from '../../harness/browser.js';
import type { Client, Json } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';

const SECRET = 'correct horse battery staple';

let ground: AgentCrew;
let service: TestService;
let ada: Person;
let editor: Person;
let viewer: Person;
let stranger: Person;
let workspace_id: string;

beforeAll(async () => {
  ground = await startCrew();
  ({ service, ada, editor, viewer, stranger, workspace_id } = ground);
  await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
});
afterEach(() => ground.model.clear());
afterAll(() => ground.stop());

const write = (file: string) => ({ name: 'write_file', input: { path: file, content: 'x' } });
const action = (name: string, input: Json) => ({ name: 'actions_run', input: { name, input } });
const isThere = (file: string) => existsSync(path.join(service.dataDir, 'workspaces', workspace_id, file));
const status = (run: Json, client?: Client) => ground.agent.status(run, client);

/** A run that waits for people, what it is said to wait for, and what was told of that. */
async function waiting(...tools: Json[]) {
  ground.model.reply({ tools });
  const run = await ground.agent.send('go', { workspace_id, on_approval: 'wait', title: 'Tidy up <b>' });
  const events = await ground.agent.eventsUntil(run, 'approval.requested', tools.length);
  const told = events.filter(({ event }) => event === 'approval.requested').map(({ data }) => data);
  const { waiting_for } = await status(run);
  return { run, told, waiting_for: waiting_for as Json[], link: waiting_for[0]?.link as string };
}

const stop = (run: Json) => ground.agent.stop(run);

describe('a run that waits for an approval', () => {
  it('says for what, of whom, until when, and where it is decided, by every way to ask', async () => {
    const { run, told, waiting_for } = await waiting(write('said.txt'), action('file_delete', { path: 'a' }));
    const client: Client = ada.client;
    const { body } = await client.get(`/api/agent/approvals?chat_id=${run.chat_id}`);
    const asked = body.items.toReversed();
    const deciders = { workspace_roles: ['admin', 'editor'], person_id: null };
    expect(waiting_for).toEqual([
      {
        approval_id: asked[0].id,
        call_id: run.call_id,
        tool: 'write_file',
        effect: 'write',
        summary: 'Write a whole file in a workspace, making its folders and replacing what was there',
        deciders,
        link: `${service.url}/approvals/${asked[0].id}`,
        expires_at: asked[0].expires_at,
      },
      expect.objectContaining({
        tool: 'file_delete',
        summary: asked[1].summary,
        link: asked[1].link,
        deciders,
      }),
    ]);
    for (const [at, { id, summary, link, expires_at }] of asked.entries())
      expect(told[at]).toMatchObject({ approval_id: id, summary, link, expires_at });
    const record = await client.get(`/api/agent/runs/${run.call_id}`);
    const byAction = async (name: string) =>
      (await client.post(`/api/actions/${name}/run`, { input: { call_id: run.call_id } })).body.output;
    const mcp = await client.with({ accept: 'application/json, text/event-stream' }).post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'run_status', arguments: { call_id: run.call_id } },
    });
    for (const found of [
      record.body,
      await byAction('run_get'),
      await byAction('run_status_get'),
      mcp.body.result.structuredContent,
      await status(run, viewer.client),
    ])
      expect(found).toMatchObject({ state: 'waiting', waiting_for });
    expect((await stranger.client.get(`/api/agent/status/${run.call_id}`)).status).toBe(404);
    await stop(run);
    expect(await status(run)).toMatchObject({ state: 'done', waiting_for: null });
  });

  it('names what is left to decide, and nothing once it goes on', async () => {
    const { run, waiting_for } = await waiting(write('first.txt'), write('second.txt'));
    const decide = (at: number) =>
      ada.client.post(`/api/agent/approvals/${waiting_for[at]?.approval_id}`, { decision: 'deny' });
    await decide(0);
    expect((await status(run)).waiting_for).toEqual([waiting_for[1]]);
    const { promise, resolve } = Promise.withResolvers<void>();
    ground.model.reply({ text: 'Left.', after: promise });
    await decide(1);
    expect((await status(run)).waiting_for).toBeNull();
    resolve();
    expect(await ground.agent.ended(run)).toMatchObject({ waiting_for: null });
  });

  it('gives no secret away', async () => {
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: 'shared.txt',
      content: 'x',
    });
    const { run, told, waiting_for, link } = await waiting(
      action('share_create', { path: 'shared.txt', password: SECRET }),
    );
    const { page } = await atThePage(link, ada);
    const approval = await ada.client.get(`/api/agent/approvals/${waiting_for[0]?.approval_id}`);
    for (const shown of [
      JSON.stringify(told),
      JSON.stringify(waiting_for),
      page.html,
      JSON.stringify(approval.body),
    ]) {
      expect(shown).toContain('share');
      expect(shown).not.toContain(SECRET);
    }
    expect(page.html).toContain('shared.txt');
    await stop(run);
  });
});

async function atThePage(link: string, person: Person, browser = new Browser(service.url)) {
  return { browser, page: await browser.openAs(link, person) };
}
const decide = (browser: Browser, page: Visit, decision: string) =>
  browser.submit(page, '/decide', { decision });

describe('the page of an approval of a run', () => {
  it('shows every sign that is hidden or turns text around, so that no name passes for another', async () => {
    const { run, link } = await waiting(write('report\u202etxt.exe\u200b'));
    const { page } = await atThePage(link, ada);
    expect(page.html).toContain('report\\u202etxt.exe\\u200b');
    expect(page.html).not.toMatch(/\p{Cf}/u);
    await stop(run);
  });

  it('shows its owner what is to be done, as text, and takes the decision', async () => {
    const { run, link } = await waiting(write('<img src=x>.txt'));
    const { browser, page } = await atThePage(link, ada);
    expect(page.status).toBe(200);
    for (const shown of [
      'Write a file?',
      'Write a whole file in a workspace',
      'Field notes',
      'An agent',
      '<dd>Ada</dd>',
      'Tidy up &lt;b&gt;',
      '&lt;img src=x&gt;.txt',
      'Allow once',
    ])
      expect(page.html).toContain(shown);
    expect(page.html).not.toContain('<img');
    expect((await status(run)).state).toBe('waiting');
    ground.model.reply({ text: 'Written.' });
    expect((await decide(browser, page, 'allow')).html).toContain('You allowed it');
    expect((await ground.agent.ended(run)).result.response).toBe('Written.');
    expect(isThere('<img src=x>.txt')).toBe(true);
    const late = await decide(browser, page, 'deny');
    expect(late.html).toContain('You allowed it');
    expect(late.html).not.toContain('Allow once');
  });

  it('takes a no, of anybody who may decide, and tells the others who it was', async () => {
    const { run, link } = await waiting(action('file_delete', { path: 'kept.txt' }));
    const { browser, page } = await atThePage(link, editor);
    expect(page.html).toContain('Delete a file or folder?');
    ground.model.reply({ text: 'Left.' });
    const opened = await atThePage(link, ada);
    expect((await decide(browser, page, 'deny')).html).toContain('You did not allow it');
    const second = await decide(opened.browser, opened.page, 'allow');
    expect(second.html).toContain('It was not allowed');
    expect(second.html).toContain('Grace Editor did not allow it.');
    expect((await ground.agent.ended(run)).result.toolOutputs[0]).toMatchObject({ is_error: true });
    const [entry] = await service.database.query<Json>(
      `select actor_id, details from audit_entry where action = 'approval.decide' order by id desc limit 1`,
    );
    expect(entry).toMatchObject({ actor_id: editor.id, details: { decision: 'deny', tool: 'file_delete' } });
  });

  it('lets a viewer look, and not decide', async () => {
    const { run, link } = await waiting(write('looked.txt'));
    const { browser, page } = await atThePage(link, viewer);
    expect(page.status).toBe(200);
    expect(page.html).toContain('looked.txt');
    expect(page.html).toContain('requires the editor role');
    expect(page.html).not.toContain('name="decision"');
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    expect((await browser.send(`${link}/decide`, { csrf, decision: 'allow' })).html).toContain('looked.txt');
    expect(await status(run)).toMatchObject({ state: 'waiting' });
    await stop(run);
  });

  it('says the same to a stranger as of one that is not there, and takes nothing from them', async () => {
    const { run, link } = await waiting(write('hidden.txt'));
    const { browser, page } = await atThePage(link, stranger);
    const unknown = await browser.open(`${service.url}/approvals/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f`);
    expect([page.status, unknown.status]).toEqual([404, 404]);
    const bare = ({ html }: Visit) => html.replaceAll(/csrf" value="[^"]*"|\/approvals\/[\w-]+/g, '');
    expect(bare(page)).toBe(bare(unknown));
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    expect((await browser.send(`${link}/decide`, { csrf, decision: 'allow' })).status).toBe(404);
    expect(await status(run)).toMatchObject({ state: 'waiting' });
    await stop(run);
  });

  it('says that the time is over, and that the run has gone on without it', async () => {
    const stopped = await waiting(write('stopped.txt'));
    const { browser, page } = await atThePage(stopped.link, ada);
    await stop(stopped.run);
    const gone = await decide(browser, page, 'allow');
    expect(gone).toMatchObject({ status: 410, html: expect.stringContaining('the run was stopped') });
    const late = await waiting(write('late.txt'));
    await service.database.query('update approval set expires_at = now() where run_id = $1', [
      late.run.call_id,
    ]);
    const opened = await browser.open(late.link);
    expect(opened).toMatchObject({ status: 410, html: expect.stringContaining('No one decided in time') });
    expect((await ground.agent.ended(late.run)).error).toMatchObject({ type: 'approval_expired' });
    expect((await browser.open(late.link)).html).toContain('No one decided in time');
    expect([isThere('stopped.txt'), isThere('late.txt')]).toEqual([false, false]);
  });
});
