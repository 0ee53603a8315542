/** Webhooks of those who mean harm, or whose network does. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { connected } from '../harness/raw-http.js';
import { type Person, TestService } from '../harness/service.js';
import type { ServiceProcess } from './service-process.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;
const MIB = 1024 * 1024;
const LARGE = 25 * MIB;

let service: TestService;
let ada: Person;
let own: Automations;
let workers: Workers;
let receiver: ServiceProcess;
let url: string;

/** What receives is a process of its own; nothing is run. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  own = new Automations(ada.client, await service.workspace(ada));
  workers = new Workers({ service, environment: {} });
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const limits = { SLOW_READER_SECONDS: '5', RATE_LIMITS_PER_MINUTE: 'webhook=0' };
  receiver = await workers.start({ ROLE: 'api', PORT: String(port), ...limits });
}, PATIENCE);
afterAll(async () => {
  await workers.stop();
  await service.stop();
});

async function hook(name: string, rules: string): Promise<{ id: string; path: string; secret: string }> {
  const deployed = await own.deploy(await own.script(name, 'true', `on:\n  - webhook: { ${rules} }`));
  const [secret] = deployed.secrets;
  return { id: deployed.id, path: new URL(secret.url).pathname, secret: secret.secret };
}

async function send(
  path: string,
  body: string | Buffer<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Json }> {
  const response = await fetch(url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: response.status, body: await response.json() };
}

/** What the service answers to bytes that come as they come; undefined where it says nothing. */
async function sendPieces(path: string, head: string, pieces: () => AsyncIterable<string>): Promise<string> {
  const socket = await connected(url);
  let answer = '';
  socket.on('data', chunk => {
    answer += chunk;
  });
  socket.on('error', () => undefined);
  // With a reset, where it has answered before it has read everything.
  const closed = new Promise(resolve => socket.once('close', resolve));
  const answered = new Promise(resolve => socket.once('data', resolve));
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${head}\r\n\r\n`);
  for await (const piece of pieces()) {
    if (answer !== '' || socket.destroyed) break;
    const drained = new Promise(resolve => socket.once('drain', resolve));
    if (!socket.write(piece)) await Promise.race([drained, closed, answered]);
  }
  await closed;
  return answer.split('\r\n')[0] ?? '';
}

const github = (secret: string, body: string, delivery: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  'x-github-delivery': delivery,
});

function standard(secret: string, body: string, id: string, seconds: number) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}

const now = () => Math.floor(Date.now() / 1000);
const statesOf = async (id: string) =>
  (await own.deliveries(`&deployment_id=${id}`)).map(({ state }) => state);

const bomb = gzipSync(Buffer.alloc(100 * MIB));

describe('a body', () => {
  it(
    'of 25 MiB is refused, whether its sender says how long it is or not',
    async () => {
      const { id, path } = await hook('large', '');
      const said = await sendPieces(
        path,
        `content-length: ${LARGE}\r\nconnection: close`,
        async function* () {},
      );
      expect(said).toBe('HTTP/1.1 413 Payload Too Large');
      const piece = 'x'.repeat(MIB);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () =>
          sendPieces(path, 'transfer-encoding: chunked\r\nconnection: close', async function* () {
            for (let n = 0; n < 25; n++) yield `${MIB.toString(16)}\r\n${piece}\r\n`;
            yield '0\r\n\r\n';
          }),
        ),
      );
      expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 413 Payload Too Large']));
      expect(await statesOf(id)).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'that comes a byte at a time is given up, while others are taken',
    async () => {
      const { id, path } = await hook('slow', '');
      let goesOn = true;
      const slow = sendPieces(path, 'content-length: 1000', async function* () {
        while (goesOn) {
          yield ' ';
          await sleep(100);
        }
      });
      expect((await send(path, '{}')).status).toBe(200);
      expect(await slow).toBe('HTTP/1.1 408 Request Timeout');
      goesOn = false;
      expect(await statesOf(id)).toEqual(['accepted']);
    },
    PATIENCE,
  );

  it.each(['gzip', 'deflate', 'br', 'gzip, gzip'])(
    'that is compressed (%s) is not unpacked',
    async encoding => {
      const { id, path } = await hook(`bomb${encoding.length}`, '');
      expect((await send(path, bomb, { 'content-encoding': encoding })).status).toBe(415);
      expect(await statesOf(id)).toEqual([]);
    },
  );

  it('of brackets, of keys or of nothing valid is refused as such, and the process lives', async () => {
    const { id, path } = await hook('odd', '');
    const bodies = [
      '['.repeat(500_000),
      '{"__proto__":{"a":1}}',
      '{"a":"\\u0000\\ud800"}',
      '{"a":1e999}',
      Buffer.from([0xff, 0xfe, 0x7b]),
    ];
    const statuses: number[] = [];
    for (const body of bodies) statuses.push((await send(path, body)).status);
    expect(statuses).toEqual([422, 200, 200, 200, 400]);
    expect((await send(path, '{}')).body).toMatchObject({ status: 'pending' });
    expect(await statesOf(id)).toEqual(Array(4).fill('accepted'));
    expect(receiver.errors).toEqual([]);
  });
});

describe('where bodies may have 25 MiB', () => {
  const FILL = 'x'.repeat(LARGE - 1000);
  let large: ServiceProcess;

  beforeAll(async () => {
    const port = await freePort();
    const limits = { WEBHOOK_BYTES: String(LARGE), RATE_LIMITS_PER_MINUTE: 'webhook=0' };
    large = await workers.start({ ROLE: 'api', PORT: String(port), ...limits });
    url = `http://127.0.0.1:${port}`;
  }, PATIENCE);

  it(
    'many at once are taken one after the other, and other webhooks go on',
    async () => {
      const { id, path, secret } = await hook('many', 'verify: github');
      // However many are sent, no runs wait for it.
      const small = await hook('small', 'filter: { body.action: none }');
      const body = JSON.stringify({ action: 'opened', text: FILL });
      expect((await send(path, body, github(secret, body, 'first'))).status).toBe(200);
      let isOver = false;
      const sending = Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          for (;;) {
            const { status } = await send(path, body, github(secret, body, `large ${n}`));
            if (status !== 503) return status;
          }
        }),
      ).finally(() => {
        isOver = true;
      });
      while (!isOver) expect((await send(small.path, '{}')).status).toBe(200);
      expect(await sending).toEqual(Array(8).fill(200));
      expect(await statesOf(id)).toEqual(Array(9).fill('accepted'));
      expect((await send(path, body, github(secret, body, 'large 3'))).body.duplicate).toBe(true);
    },
    PATIENCE,
  );

  it(
    'three are in memory at once, and the next is told to come back',
    async () => {
      const { path } = await hook('room', '');
      const piece = 'x'.repeat(MIB);
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const sent: Promise<void>[] = [];
      const slow = Array.from({ length: 3 }, () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        sent.push(promise);
        const head = `content-length: ${21 * MIB + 2}\r\nconnection: close`;
        return sendPieces(path, head, async function* () {
          yield '"';
          // More than the kernel holds for one that does not read.
          for (let n = 0; n < 20; n++) yield piece;
          resolve();
          await held;
          yield `${piece}"`;
        });
      });
      await Promise.all(sent);
      const next = await send(path, JSON.stringify(FILL));
      expect(next).toMatchObject({ status: 503, body: { detail: expect.stringContaining('send it again') } });
      release();
      expect(await Promise.all(slow)).toEqual(Array(3).fill('HTTP/1.1 200 OK'));
      expect((await send(path, JSON.stringify(FILL))).status).toBe(200);
    },
    PATIENCE,
  );

  it('they are refused where they are forged, too long, broken, or their length is not said', async () => {
    const { id, path, secret } = await hook('refused', 'verify: github');
    const body = JSON.stringify({ text: FILL });
    expect((await send(path, body, github('other', body, 'a'))).status).toBe(401);
    const broken = body.slice(0, -1);
    expect((await send(path, broken, github(secret, broken, 'b'))).status).toBe(400);
    const deep = '['.repeat(2 * MIB);
    expect((await send(path, deep, github(secret, deep, 'c'))).status).toBe(422);
    const pieces = (chunks: number) =>
      sendPieces(path, 'transfer-encoding: chunked\r\nconnection: close', async function* () {
        for (let n = 0; n < chunks; n++) yield `${MIB.toString(16)}\r\n${'x'.repeat(MIB)}\r\n`;
        yield '0\r\n\r\n';
      });
    expect(await pieces(3)).toBe('HTTP/1.1 411 Length Required');
    const head = `content-length: ${LARGE + 1}\r\nconnection: close`;
    expect(await sendPieces(path, head, async function* () {})).toBe('HTTP/1.1 413 Payload Too Large');
    expect(await statesOf(id)).toEqual([]);
    expect(large.errors).toEqual([]);
  });
});

describe('a signature', () => {
  it('is not made up by its length, its case, its kind or by leaving it out', async () => {
    const body = '{"action":"opened"}';
    const { id, path, secret } = await hook('forged', 'verify: github');
    const right = github(secret, body, 'a')['x-hub-signature-256'];
    for (const forged of [
      '',
      'sha256=',
      right.slice(0, -2),
      `${right}00`,
      right.replace('sha256=', 'sha1='),
      right.replace('sha256=', ''),
      `sha256=${createHmac('sha256', '').update(body).digest('hex')}`,
      `sha256=${createHmac('sha256', 'null').update(body).digest('hex')}`,
      `sha256=${'0'.repeat(64)}`,
      `sha256=${'é'.repeat(32)}`,
    ])
      expect([forged, (await send(path, body, { 'x-hub-signature-256': encodeURI(forged) })).status]).toEqual(
        [forged, 401],
      );
    expect(await statesOf(id)).toEqual([]);
    expect((await send(path, body, github(secret, body, 'a'))).status).toBe(200);
  });
});

describe('a webhook that is sent again', () => {
  it('by somebody who listened is the same run within 300 seconds, and refused afterwards', async () => {
    const body = '{"a":1}';
    const { id, path, secret } = await hook('replayed', 'verify: standard');
    const headers = standard(secret, body, 'msg_1', now() - 200);
    const first = await send(path, body, headers);
    const again = await send(path, body, headers);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body).toMatchObject({ run_id: first.body.run_id, duplicate: true });
    // With its id changed, the signature is another one.
    expect((await send(path, body, { ...headers, 'webhook-id': 'msg_2' })).status).toBe(401);
    for (const seconds of [now() - 400, now() + 400])
      expect((await send(path, body, standard(secret, body, 'msg_3', seconds))).status).toBe(401);
    expect(await own.runs(`&deployment_id=${id}`)).toHaveLength(1);
  });

  it(
    'after seven days has no key any more: a signature of then is refused, and one without a time starts a run',
    async () => {
      const body = '{"a":1}';
      const signed = await hook('week', 'verify: standard');
      const unsigned = await hook('week-token', 'verify: token');
      const headers = standard(signed.secret, body, 'msg_1', now());
      expect((await send(signed.path, body, headers)).status).toBe(200);
      const first = await send(unsigned.path, body, { 'idempotency-key': 'a' });
      await service.database.query("update automation_seen set seen_at = now() - interval '7 days 1 minute'");
      const chore = await workers.start();
      await service.database.query("update chore set due_at = now() where name = 'forget_automation_runs'");
      while ((await service.database.query('select 1 from automation_seen')).length > 0) await sleep(100);
      await chore.stop();
      const old = standard(signed.secret, body, 'msg_1', now() - 7 * 86_400);
      expect((await send(signed.path, body, old)).status).toBe(401);
      const again = await send(unsigned.path, body, { 'idempotency-key': 'a' });
      expect(again.body).toMatchObject({ duplicate: false, status: 'pending' });
      expect(again.body.run_id).not.toBe(first.body.run_id);
    },
    PATIENCE,
  );
});
