import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Config } from '../../../src/platform/config/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { createServer } from '../../../src/server.js';
import { Browser } from '../../harness/browser.js';
import type { Json } from '../../harness/client.js';
import { allow, OAuthClient, signIn, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

let service: TestService;
let other: NestFastifyApplication;
let otherUrl: string;
let ada: Person;
let device: OAuthClient;
let started: Json;

beforeAll(async () => {
  service = await startOAuthService();
  ada = await service.person();
  const environment = { PUBLIC_URL: service.url, DATA_DIR: service.dataDir, LOG_LEVEL: 'error' };
  const config = Config.from({ ...environment, RATE_LIMITS_PER_MINUTE: 'anonymous=0', DRAIN_SECONDS: '0' });
  const database = { connectionString: service.database.url };
  other = await createServer({ config, log: createLog(config), database });
  await other.listen(0, '127.0.0.1');
  otherUrl = await other.getUrl();
  device = await OAuthClient.register(service, {
    client_name: 'Terminal',
    grant_types: [GRANT_TYPE, 'refresh_token'],
    redirect_uris: [],
    response_types: [],
  });
});
afterAll(async () => {
  await other.close();
  await service.stop();
});

beforeEach(async () => {
  await service.database.query(`delete from oauth_artifact where model = 'DeviceCode'`);
  const fields = { client_id: device.client.client_id, scope: 'read', resource: device.mcp };
  started = (await device.post(device.server.device_authorization_endpoint, fields)).body;
});

const poll = (at = service.url, client_id = device.client.client_id) =>
  device.post(`${at}/oauth/token`, { grant_type: GRANT_TYPE, device_code: started.device_code, client_id });
const answerTo = async (at?: string): Promise<string> => (await poll(at)).body.error;
/** Moves the time of the last poll to so many seconds ago. */
const polledAgo = (seconds: number) =>
  service.database.query(
    `update oauth_artifact set polled_at = clock_timestamp() - make_interval(secs => $1) where model = 'DeviceCode'`,
    [seconds],
  );
const keepTo = (seconds: number) =>
  service.database.query(`update oauth_artifact set poll_seconds = $1 where model = 'DeviceCode'`, [seconds]);
const interval = async (): Promise<unknown> =>
  (
    await service.database.query<Json>(
      `select poll_seconds from oauth_artifact where model = 'DeviceCode' and polled_at is not null`,
    )
  )[0]?.poll_seconds;

async function letIn(): Promise<void> {
  const browser = new Browser(service.url);
  const { verification_uri, user_code } = started;
  const entered = await browser.submit(await browser.open(verification_uri), '/oauth/device', { user_code });
  const consent = await signIn(browser, await browser.submit(entered, '/oauth/device', {}), ada);
  expect((await allow(browser, consent)).html).toContain('Your device is connected');
}

it('is told with the code, and a poll at that pace only hears that the person has not decided', async () => {
  expect(started.interval).toBe(5);
  expect(await answerTo()).toBe('authorization_pending');
  await polledAgo(6);
  expect(await answerTo(otherUrl)).toBe('authorization_pending');
  expect(await interval()).toBeNull();
});

it('that is too fast is answered with slow_down, and five seconds more each time, by any process', async () => {
  await poll();
  for (const [at, seconds] of [
    [otherUrl, 10],
    [service.url, 15],
    [otherUrl, 20],
  ] as const) {
    await polledAgo(-3600);
    const { status, body } = await poll(at);
    expect([status, body.error]).toEqual([400, 'slow_down']);
    expect(await interval()).toBe(seconds);
  }
  await polledAgo(21);
  expect(await answerTo()).toBe('authorization_pending');
  expect(await interval()).toBe(20);
});

it('is the one of this code from then on', async () => {
  await keepTo(3600);
  await polledAgo(1800);
  expect(await answerTo()).toBe('slow_down');
  await polledAgo(3604 + 3600);
  expect(await answerTo()).toBe('authorization_pending');
});

it('lets one of many polls at once through, at two processes together', async () => {
  await keepTo(3600);
  await polledAgo(7200);
  const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(n => answerTo(n % 2 ? otherUrl : undefined)));
  expect(answers.sort()).toEqual(['authorization_pending', ...Array(5).fill('slow_down')]);
  expect(await interval()).toBe(3600 + 5 * 5);
});

it('ends nothing: the person lets the device in, and its next poll gets the tokens', async () => {
  await poll();
  await polledAgo(-3600);
  expect(await answerTo()).toBe('slow_down');
  await letIn();
  await polledAgo(-3600);
  const { status, body } = await poll(otherUrl);
  expect([status, typeof body.access_token]).toEqual([200, 'string']);
  expect((await device.refresh(body.refresh_token)).status).toBe(200);
});

it('is not touched by another client that has the code', async () => {
  await poll();
  const thief = await OAuthClient.register(service, {
    grant_types: [GRANT_TYPE],
    redirect_uris: [],
    response_types: [],
  });
  await polledAgo(-3600);
  expect((await poll(service.url, thief.client.client_id)).body.error).toBe('invalid_grant');
  expect(await interval()).toBeNull();
});
