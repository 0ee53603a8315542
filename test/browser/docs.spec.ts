import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { type Person, TestService } from '../harness/service.js';
import { DESKTOP, launchChromium, picturesOf } from './launch.js';

const shoot = picturesOf('docs', false);

let service: TestService;
let ada: Person;
let key: string;
let workspace: string;
let browser: Browser;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  await service.workspace(ada, { name: 'Another' });
  workspace = await service.workspace(ada, { name: 'Welcome' });
  const { body } = await ada.client.post('/api/keys', { name: 'Docs' });
  key = body.api_key;
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

async function authorize(page: Page): Promise<void> {
  await page.locator('button.authorize').first().click();
  const dialog = page.locator('.dialog-ux');
  await dialog.locator('input').first().fill(key);
  const filled = page.waitForResponse(response => response.url().includes('/api/agent/runs?'));
  await dialog.locator('button.authorize').first().click();
  await filled;
  await dialog.locator('button.btn-done').first().click();
}

/** Opens a route of a group and presses Execute; the status and the body of the answer. */
async function execute(
  page: Page,
  tag: string,
  path: string,
): Promise<{ status?: string; body: string | null }> {
  const group = page.locator(`#operations-tag-${tag}`);
  const operation = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first();
  if (!(await operation.isVisible())) await group.click();
  if (!(await operation.locator('.execute').isVisible())) await operation.locator('.opblock-summary').click();
  await operation.locator('.execute').click();
  const answer = operation.locator('.live-responses-table .response').first();
  await answer.waitFor();
  return {
    status: (await answer.locator('.response-col_status').textContent())?.trim(),
    body: await answer.locator('.highlight-code').first().textContent(),
  };
}

describe('the page at /docs', () => {
  it('runs its examples on the workspace Welcome, twice, and remembers the key', async () => {
    const page = await browser.newPage({ viewport: DESKTOP });
    const faults: string[] = [];
    page.on('pageerror', error => faults.push(String(error)));
    await page.goto(`${service.url}/docs`);
    await page.getByText('A workspace for teams and agents').waitFor();
    await shoot(page, 'top');
    await authorize(page);
    const sent = page.waitForRequest(request => request.url().endsWith('/api/agent/message'));
    const first = await execute(page, 'agent', '/api/agent/message');
    expect((await sent).postDataJSON()).toMatchObject({ workspace_id: workspace });
    expect(first).toMatchObject({ status: '200', body: expect.stringContaining('call_id') });
    await shoot(page, 'executed');
    const second = await execute(page, 'agent', '/api/agent/message');
    expect(second.status).toBe('200');

    const filled = page.waitForResponse(response => response.url().includes('/api/agent/runs?'));
    await page.reload();
    await filled;
    await page.getByText('A workspace for teams and agents').waitFor();
    const read = await execute(page, 'workspaces', '/api/workspaces/{workspaceId}');
    expect(read).toMatchObject({ status: '200', body: expect.stringContaining('Welcome') });
    expect(faults).toEqual([]);
    await page.close();
  });
});

it('needs nothing that its content security policy forbids', async () => {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('console', message => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', error => faults.push(error.message));
  const response = await page.goto(`${service.url}/docs`);
  await page.locator('.opblock-tag').first().waitFor();
  await authorize(page);
  expect(response?.headers()['content-security-policy']).toContain("script-src 'self';");
  expect(faults).toEqual([]);
  await page.close();
});
