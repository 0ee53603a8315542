import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { importJWK, jwtVerify } from 'jose';
import { ApprovalRequests } from '../../../src/agents/approvals/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { type Received, WebhookReceiver } from '../../fakes/webhook-receiver.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

const PUSH = '/api/notifications/push';

let receiver: WebhookReceiver;
let service: TestService;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  service = await TestService.start({
    OUTGOING_PRIVATE_HOSTS: receiver.host,
    MAIL_FROM: 'Atelier <post@atelier.example.com>',
  });
  ada = await service.person('Ada');
  bob = await service.person('Bob');
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

/** What a browser has of its subscription. */
class Browser {
  readonly auth = randomBytes(16);
  private readonly pair: ECDH = createECDH('prime256v1');
  private readonly publicKey = this.pair.generateKeys();

  constructor(readonly path: string) {}

  get subscription(): Json {
    const keys = { p256dh: this.publicKey.toString('base64url'), auth: this.auth.toString('base64url') };
    return { endpoint: receiver.url(this.path), keys, expirationTime: null };
  }

  /** Decrypts a message (RFC 8188, RFC 8291). */
  read({ raw }: Received): Json {
    const [salt, sender] = [raw.subarray(0, 16), raw.subarray(21, 21 + (raw[20] ?? 0))];
    const sealed = raw.subarray(21 + sender.length);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.publicKey, sender]);
    const input = Buffer.from(hkdfSync('sha256', this.pair.computeSecret(sender), this.auth, info, 32));
    const derive = (name: string, length: number) =>
      Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${name}\0`, length));
    const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    decipher.setAuthTag(sealed.subarray(-16));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString();
    return JSON.parse(text.slice(0, text.lastIndexOf('\u0002')));
  }
}

async function subscribed(path: string, person: Person): Promise<Browser> {
  const browser = new Browser(path);
  const { status, body } = await person.client.post(PUSH, browser.subscription);
  expect([status, body]).toEqual([200, { id: expect.any(String), endpoint: receiver.url(path) }]);
  return browser;
}

let asked = 0;
/** A program asks a person about a call, of which they are notified. */
async function ask({ id, email }: Person): Promise<void> {
  const credential = { type: 'session', id, scopes: null, expires_at: null } as const;
  const actor: Actor = {
    type: 'user',
    id,
    name: 'Ada',
    email,
    credential: { ...credential, organization_id: null, workspace_ids: null },
  };
  await service.app.get(ApprovalRequests, { strict: false }).request({
    actor,
    organizationId: null,
    workspaceId: null,
    tool: 'share_create',
    effect: 'expose',
    input: { number: ++asked },
    clientName: 'A robot',
  });
}

const countOf = async (person: Person): Promise<number> =>
  (await service.database.query('select from push_subscription where user_id = $1', [person.id])).length;

describe('a subscribed browser', () => {
  it('gets what its person is notified of, encrypted for it and signed with the key of the installation', async () => {
    const browser = await subscribed('/laptop', ada);
    await ask(ada);
    const [message] = (await receiver.at('/laptop')) as [Received];
    const { items } = (await ada.client.get('/api/notifications')).body;
    expect(browser.read(message)).toEqual({
      title: 'A robot asks to call share_create',
      type: 'approval.requested',
      id: items[0].id,
    });
    expect(message.headers).toMatchObject({ 'content-encoding': 'aes128gcm', urgency: 'high' });
    // Until the approval expires.
    const left = (Date.parse(items[0].expires_at ?? '') - Date.parse(items[0].created_at)) / 1000;
    if (!Number.isNaN(left)) expect(Math.abs(Number(message.headers.ttl) - left)).toBeLessThan(60);

    const { key, reason } = (await ada.client.get(`${PUSH}/key`)).body;
    expect(reason).toBeNull();
    const [, token = '', sender = ''] =
      /^vapid t=(.+), k=(.+)$/.exec(message.headers.authorization ?? '') ?? [];
    expect(sender).toBe(key);
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
    const { payload } = await jwtVerify(token, await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256'));
    expect(payload).toMatchObject({ aud: `http://${receiver.host}`, sub: 'mailto:post@atelier.example.com' });
    await ada.client.delete(`${PUSH}?endpoint=${encodeURIComponent(receiver.url('/laptop'))}`);
    expect(await countOf(ada)).toBe(0);
  });

  it('is forgotten when its push service says that it is gone', async () => {
    await subscribed('/gone', bob);
    receiver.answer('/gone', 410);
    await ask(bob);
    await receiver.at('/gone');
    while ((await countOf(bob)) > 0) await sleep(50);
    await ask(bob);
    await settled(service, 'notifications');
    expect(receiver.received.filter(({ path }) => path === '/gone')).toHaveLength(1);
  });

  it('gets it later where the push service is not well', async () => {
    await subscribed('/unwell', ada);
    receiver.answer('/unwell', response => response.writeHead(503, { 'retry-after': '7200' }).end());
    await ask(ada);
    await receiver.at('/unwell');
    const reasons = () =>
      service.database.query(`select state, reason from notification_delivery where channel = 'push' and reason is not null
        and target in (select id::text from push_subscription)`);
    while ((await reasons()).length === 0) await sleep(50);
    expect(await reasons()).toEqual([{ state: 'queued', reason: 'Of the push service: It answered 503' }]);
    const waiting = () =>
      service.database.query(`select from accepted_job where name = 'deliver_notification'
        and look_at between now() + interval '1 hour 59 minutes' and now() + interval '2 hours 1 minute'`);
    while ((await waiting()).length === 0) await sleep(50);
    await ada.client.delete(`${PUSH}?endpoint=${encodeURIComponent(receiver.url('/unwell'))}`);
  });
});

describe('a subscription', () => {
  it('is of one person: who signs in on the same browser takes it over, who knows the endpoint alone does not', async () => {
    const browser = await subscribed('/shared', ada);
    const forged = { ...browser.subscription, keys: new Browser('/shared').subscription.keys };
    expect((await bob.client.post(PUSH, forged)).status).toBe(409);
    const elsewhere = `${PUSH}?endpoint=${encodeURIComponent(receiver.url('/shared'))}`;
    expect((await bob.client.delete(elsewhere)).status).toBe(404);
    expect([await countOf(ada), await countOf(bob)]).toEqual([1, 0]);
    expect((await bob.client.post(PUSH, browser.subscription)).status).toBe(200);
    expect([await countOf(ada), await countOf(bob)]).toEqual([0, 1]);
    expect((await bob.client.delete(elsewhere)).status).toBe(200);
    expect((await bob.client.delete(elsewhere)).status).toBe(404);
  });

  it('is one, also where it is made twice at once', async () => {
    const { subscription } = new Browser('/twice');
    const answers = await Promise.all([1, 2, 3].map(() => ada.client.post(PUSH, subscription)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await countOf(ada)).toBe(1);
  });

  it('is refused where nothing could be sent', async () => {
    const { subscription } = new Browser('/refused');
    const { keys } = subscription;
    const refused: [Json, string][] = [
      [{ keys }, 'endpoint'],
      [{ ...subscription, keys: { ...keys, p256dh: 'AAAA' } }, 'keys.p256dh'],
      [{ ...subscription, keys: { ...keys, auth: 'AAAA' } }, 'keys.auth'],
      [{ ...subscription, endpoint: 'http://push.example.com/' }, 'https://'],
      [{ ...subscription, endpoint: 'https://10.0.0.1/' }, 'not a public address'],
    ];
    for (const [body, sentence] of refused) {
      const answer = await ada.client.post(PUSH, body);
      expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining(sentence)]);
    }
    const key = await service.key(ada, { organization_id: ada.organizationId });
    expect((await key.post(PUSH, subscription)).status).toBe(403);
    expect((await service.stranger.post(PUSH, subscription)).status).toBe(401);
  });

  it('keeps the keys of the browser sealed', async () => {
    const { auth } = await subscribed('/sealed', ada);
    const rows = await service.database.query('select keys from push_subscription where user_id = $1', [
      ada.id,
    ]);
    for (const { keys } of rows) expect((keys as Buffer).includes(auth.toString('base64url'))).toBe(false);
  });
});
