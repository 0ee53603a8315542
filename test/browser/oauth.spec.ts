import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { OAuthResources, OAuthTokens } from '../../src/identity/oauth/index.js';
import { SCOPES } from '../../src/platform/access/index.js';
import { OAuthClient, startOAuthService } from '../harness/oauth.js';
import type { Person, TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, PHONE, picturesOf, SCREENS, signIn } from './launch.js';

const picture = picturesOf('oauth');

let service: TestService;
let chromium: Browser;
let application: Server;
let redirect_uri: string;
let client: OAuthClient;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  chromium = await launchChromium();
  service = await startOAuthService();
  ada = await service.person('Ada Lovelace');
  workspace = await service.workspace(ada, { name: 'Research' });
  for (const name of ['Website', 'Customer interviews 2026 with a long name'])
    await service.workspace(ada, { name });
  application = createServer((_request, response) => response.end('Back in the application'));
  await new Promise<void>(resolve => application.listen(0, '127.0.0.1', resolve));
  redirect_uri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
  client = await OAuthClient.register(service, {
    client_name: 'Desk Assistant',
    redirect_uris: [redirect_uri],
  });
});
afterAll(async () => {
  application?.closeAllConnections();
  application?.close();
  await chromium?.close();
  await service?.stop();
});

async function begin(options: BrowserContextOptions, scope = 'read write') {
  const context = await chromium.newContext(options);
  const page = await context.newPage();
  const request = await client.request({ scope, redirect_uri });
  await page.goto(client.address(request.parameters));
  return { page, request, context };
}

describe.each(SCREENS)('on %s', (name, options) => {
  it('a person signs in, chooses a workspace and lets the application in', async () => {
    const { page, request, context } = await begin(options);
    await signIn(page, { ...ada, password: 'not the password' });
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('E-mail address or password is wrong');
    await picture(page, `${name}-login`);
    await signIn(page, ada);
    await page.getByRole('heading', { name: 'Let Desk Assistant in?' }).waitFor();
    await picture(page, `${name}-question`);
    if (options.javaScriptEnabled !== false) expect(await fitsWidth(page)).toBe(true);
    await page.getByLabel('Only look').check();
    await page.getByLabel('Only those I choose').check();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Choose at least one workspace').waitFor();
    expect(await page.getByLabel('Only look').isChecked()).toBe(true);
    await page.getByLabel('Research').check();
    await picture(page, `${name}-consent`);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Back in the application').waitFor();
    const tokens = await client.redeem(new URL(page.url()), request.verifier, request.state, {
      redirect_uri,
    });
    const { mcp } = service.app.get(OAuthResources, { strict: false });
    const actor = await service.app.get(OAuthTokens, { strict: false }).verify(tokens.access_token, mcp);
    expect(actor?.credential.workspace_ids).toEqual([workspace]);
    expect(actor?.credential.scopes).not.toContain('files:write');
    await context.close();
  });
});

describe.each(SCREENS)('what is asked for, on %s', (name, options) => {
  it('is shown in full, the strongest first, and nothing of it is folded', async () => {
    const scope = ['read', 'write', ...SCOPES.filter(each => each.endsWith(':write'))].join(' ');
    const { page, context } = await begin(options, scope);
    await signIn(page, ada);
    await page.getByRole('heading', { name: 'Let Desk Assistant in?' }).waitFor();
    await picture(page, `${name}-administration`);
    expect(await page.locator('details').count()).toBe(0);
    const groups = page.locator('.asked');
    expect(await groups.getByRole('heading').allTextContents()).toEqual([
      'Administer',
      'Open to others or grant rights, each time after asking you',
      'Change and run',
      'Look',
    ]);
    expect(await page.getByText('Administer, change and look').isVisible()).toBe(true);
    expect(await page.getByText('It administers: accounts').isVisible()).toBe(true);
    for (const text of await page.locator('.asked li').all()) expect(await text.isVisible()).toBe(true);
    for (const told of ['Share a file or folder by a link', 'Set which hosts', 'Make accounts for programs'])
      expect(await page.getByText(told).first().isVisible()).toBe(true);
    if (options.javaScriptEnabled !== false) {
      const isCut = 'each => each.scrollHeight > each.clientHeight + 1';
      expect(await page.evaluate(`[...document.querySelectorAll('.asked')].some(${isCut})`)).toBe(false);
    }
    if (options.javaScriptEnabled !== false) expect(await fitsWidth(page)).toBe(true);
    await context.close();
  });
});

describe('with the keyboard alone', () => {
  it('a person signs in and declines', async () => {
    const { page, context } = await begin({ viewport: DESKTOP });
    expect(await page.evaluate('document.activeElement.id')).toBe('email');
    await page.keyboard.type(ada.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(ada.password);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Decline' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Back in the application').waitFor();
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    await context.close();
  });
});

describe('a device', () => {
  it('is connected by its code', async () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const metadata = {
      client_name: 'Terminal',
      grant_types: [grant_type],
      redirect_uris: [],
      response_types: [],
    };
    const device = await OAuthClient.register(service, metadata);
    const { body } = await device.post(device.server.device_authorization_endpoint, {
      client_id: device.client.client_id,
    });
    const context = await chromium.newContext({ viewport: PHONE });
    const page = await context.newPage();
    await page.goto(body.verification_uri_complete);
    expect(await page.getByLabel('Code that the device shows').inputValue()).toBe(body.user_code);
    await picture(page, 'phone-device-code');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(body.user_code).waitFor();
    await picture(page, 'phone-device-confirm');
    await page.getByRole('button', { name: 'It is mine' }).click();
    await signIn(page, ada);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Your device is connected').waitFor();
    await picture(page, 'phone-device-done');
    expect((await device.token({ grant_type, device_code: body.device_code })).status).toBe(200);
    await context.close();
  });
});

describe('a request that cannot be answered', () => {
  it('is explained on a page', async () => {
    const context = await chromium.newContext({ viewport: DESKTOP });
    const page = await context.newPage();
    await page.goto(`${service.url}/oauth/authorize?client_id=nobody`);
    await page.getByRole('heading', { name: 'This did not work' }).waitFor();
    await picture(page, 'desktop-error');
    await context.close();
  });
});

describe.each<[string, BrowserContextOptions]>([
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE, colorScheme: 'dark' }],
])('the page of the MCP endpoint on %s', (name, options) => {
  it('fits, and a click marks a whole block to copy', async () => {
    const context = await chromium.newContext(options);
    const page = await context.newPage();
    await page.goto(`${service.url}/mcp`);
    expect(await fitsWidth(page)).toBe(true);
    await page.locator('.copy').nth(1).click();
    expect(await page.evaluate('getSelection().toString().trim()')).toBe(
      `claude mcp add --transport http atelier ${service.url}/mcp`,
    );
    await picture(page, `${name}-mcp`);
    await context.close();
  });
});
