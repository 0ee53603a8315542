import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { AgentClient } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { startOAuthService } from '../harness/oauth.js';
import type { Person, TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, picturesOf, SCREENS, signIn } from './launch.js';

const picture = picturesOf('approval');

let service: TestService;
let chromium: Browser;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  chromium = await launchChromium();
  service = await startOAuthService();
  ada = await service.person('Ada Lovelace');
  workspace = await service.workspace(ada, { name: 'Customer interviews 2026 with a long name' });
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
});

/** A client that cannot ask wants a file gone; the link that it is given, and what the same call answers later. */
async function ask(file: string): Promise<{ link: string; again: () => Promise<Json> }> {
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: file, content: 'x' });
  const key = await service.key(ada, { name: 'Desk Assistant' });
  const call = async () => {
    const input = { name: 'file_delete', workspace_id: workspace, input: { path: file } };
    const { body } = await key.with({ accept: 'application/json, text/event-stream' }).post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'actions_write', arguments: input },
    });
    return body.result;
  };
  const { content } = await call();
  return { link: /http\S+\/approvals\/[\w-]+/.exec(content[0].text)?.[0] ?? '', again: call };
}

async function open(options: BrowserContextOptions, link: string) {
  const context = await chromium.newContext(options);
  const page = await context.newPage();
  await page.goto(link);
  return { page, context };
}

describe.each(SCREENS)('on %s', (name, options) => {
  it('a person sees what is to be done, and allows it once', async () => {
    const file = `a folder with a rather long name/${'part-'.repeat(12)}${name}.txt`;
    const { link, again } = await ask(file);
    const { page, context } = await open(options, link);
    await signIn(page, { ...ada, password: 'not the password' });
    await page.getByRole('alert').waitFor();
    await picture(page, `${name}-sign-in`);
    await signIn(page, ada);
    await page.getByRole('heading', { name: 'Delete a file or folder?' }).waitFor();
    expect(await page.getByText(file).count()).toBe(1);
    expect(await page.getByText('The API key Desk Assistant').count()).toBe(1);
    await picture(page, `${name}-question`);
    if (options.javaScriptEnabled !== false) expect(await fitsWidth(page)).toBe(true);
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByRole('heading', { name: 'You allowed it' }).waitFor();
    await picture(page, `${name}-allowed`);
    expect((await again()).structuredContent).toMatchObject({ status: 'completed' });
    await page.reload();
    await page.getByRole('heading', { name: 'It is done' }).waitFor();
    await context.close();
  });
});

it.each(SCREENS)('on %s the link that a waiting run tells leads to its decision', async (name, options) => {
  const agent = new AgentClient(ada.client);
  const workspace_id = await service.workspace(ada, { name: 'Field notes' });
  await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
  const run = await agent.send(`run echo decided > ${'part-'.repeat(12)}${name}.txt`, {
    workspace_id,
    model: 'atelier/demo',
    on_approval: 'wait',
    title: 'Write down what was decided',
  });
  await agent.until(run, ({ event }) => event === 'approval.requested');
  const { body } = await ada.client.get(`/api/agent/status/${run.call_id}`);
  const { page, context } = await open(options, body.waiting_for[0].link);
  await signIn(page, ada);
  await page.getByRole('heading', { name: 'Run a bash script?' }).waitFor();
  expect(await page.getByText(`${name}.txt`).count()).toBe(1);
  expect(await page.getByText('Field notes').count()).toBe(1);
  await picture(page, `${name}-run`);
  if (options.javaScriptEnabled !== false) expect(await fitsWidth(page)).toBe(true);
  await page.getByRole('button', { name: 'Allow once' }).click();
  await page.getByRole('heading', { name: 'You allowed it' }).waitFor();
  await picture(page, `${name}-run-allowed`);
  expect(await agent.ended(run)).toMatchObject({ status: 'completed', waiting_for: null });
  await page.reload();
  await page.getByText('The run goes on, and does it once.').waitFor();
  await context.close();
});

it('the keyboard alone is enough', async () => {
  const { link, again } = await ask('keyboard.txt');
  const { page, context } = await open({ viewport: DESKTOP }, link);
  // The field has the focus by itself, once the page is painted.
  await page.locator('#email:focus').waitFor();
  await page.keyboard.type(ada.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(ada.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Delete a file or folder?' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'You did not allow it' }).waitFor();
  expect(await again()).toMatchObject({ isError: true });
  await context.close();
});

it('the page cannot be framed', async () => {
  const { link } = await ask('framed.txt');
  const { page, context } = await open({ viewport: DESKTOP }, 'about:blank');
  await page.setContent(`<iframe src="${link}" title="x"></iframe>`);
  await page.waitForLoadState('networkidle');
  const frame = page.frames().at(-1);
  expect(await frame?.getByText('Sign in').count()).toBe(0);
  await context.close();
});
