import { createECDH, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalRequests } from '../../src/agents/approvals/index.js';
import type { Actor } from '../../src/platform/access/index.js';
import { type Received, WebhookReceiver } from '../fakes/webhook-receiver.js';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';
import { Barrier } from './barrier.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let receiver: WebhookReceiver;
let service: TestService;
let workers: Workers;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  const environment = { OUTGOING_PRIVATE_HOSTS: receiver.host, MAIL_FROM: 'post@atelier.example.com' };
  service = await TestService.start({ ROLE: 'api', ...environment });
  workers = new Workers({ service, environment });
}, PATIENCE);
afterEach(() => workers.stop());
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

/** A program asks a person about a call, of which they are notified. */
async function ask({ id, email }: Person): Promise<void> {
  const unlimited = { scopes: null, expires_at: null, organization_id: null, workspace_ids: null };
  const credential = { type: 'session', id, ...unlimited } as const;
  const actor: Actor = { type: 'user', id, name: 'Ada', email, credential };
  await service.app.get(ApprovalRequests, { strict: false }).request({
    actor,
    organizationId: null,
    workspaceId: null,
    tool: 'share_create',
    effect: 'expose',
    input: {},
    clientName: 'A robot',
  });
}

async function webhook({ client }: Person, path: string): Promise<string> {
  const fields = { url: receiver.url(path), types: ['approval.requested'] };
  return (await client.post('/api/notifications/webhooks', fields)).body.id;
}

/** The attempts that are recorded, once there are some. */
async function attempts({ client }: Person, id: string): Promise<Json[]> {
  for (; ; await sleep(20)) {
    const { body } = await client.get(`/api/notifications/webhooks/${id}/attempts`);
    if (body.items.length > 0) return body.items;
  }
}

/** The first request of a path is not answered; later ones are, with `status`. */
function hangOnce(path: string, status: number): void {
  receiver.answer(path, () => receiver.answer(path, status));
}

/** All that is stored of what a person was told by a channel. */
const deliveriesTo = ({ id }: Person, channel: string) =>
  service.database.query(
    `select d.state from notification n left join notification_delivery d on d.notification_id = n.id and d.channel = $2
     where n.user_id = $1`,
    [id, channel],
  );
const messagesTo = (id: string) =>
  service.database.query('select state, attempts, holder from webhook_message where endpoint_id = $1', [id]);
const idsIn = (sent: readonly Received[]) => sent.map(({ headers }) => headers['webhook-id']);

describe('when a worker is killed in the middle of an attempt', () => {
  it(
    'a webhook that has not answered is sent the same message again, and it counts once',
    async () => {
      const ada = await service.person();
      const id = await webhook(ada, '/unanswered');
      hangOnce('/unanswered', 500);
      await workers.start();
      await ask(ada);
      await receiver.at('/unanswered');
      await workers.kill();
      expect(await messagesTo(id)).toMatchObject([{ state: 'pending', attempts: 1 }]);

      await workers.start();
      const [first, second] = idsIn(await receiver.at('/unanswered', 2));
      expect(second).toBe(first);
      // As after the first attempt, and not after the second: it comes in five seconds and not in five minutes.
      await receiver.at('/unanswered', 3);
      expect(await deliveriesTo(ada, 'webhook')).toEqual([{ state: 'sent' }]);

      expect(new Set(idsIn(await receiver.at('/unanswered', 3)))).toEqual(new Set([first]));
    },
    PATIENCE,
  );

  it(
    'a webhook that has answered is sent it again where that was not written down, which its id tells it',
    async () => {
      const ada = await service.person();
      const id = await webhook(ada, '/answered');
      await workers.start();
      const barrier = await Barrier.raise(service, 'webhook_attempt');
      await ask(ada);
      await receiver.at('/answered');
      await barrier.holds(1);
      await workers.kill();
      await barrier.undo();
      await barrier.lift();
      expect(await messagesTo(id)).toMatchObject([{ state: 'pending', attempts: 1 }]);

      await workers.start();
      expect(await attempts(ada, id)).toMatchObject([{ succeeded: true }]);
      const [first, second, ...more] = idsIn(await receiver.at('/answered', 2));
      expect([second, more]).toEqual([first, []]);
      expect(await messagesTo(id)).toEqual([{ state: 'sent', attempts: 1, holder: null }]);
      expect(await deliveriesTo(ada, 'webhook')).toEqual([{ state: 'sent' }]);
    },
    PATIENCE,
  );

  it(
    'a browser gets its push, and the inbox has it once',
    async () => {
      const ada = await service.person();
      const p256dh = createECDH('prime256v1').generateKeys('base64url');
      const keys = { p256dh, auth: randomBytes(16).toString('base64url') };
      await ada.client.post('/api/notifications/push', { endpoint: receiver.url('/push'), keys });
      hangOnce('/push', 201);
      await workers.start();
      await ask(ada);
      await receiver.at('/push');
      await workers.kill();
      expect(await deliveriesTo(ada, 'push')).toEqual([{ state: 'queued' }]);

      await workers.start();
      await receiver.at('/push', 2);
      while ((await deliveriesTo(ada, 'push'))[0]?.state === 'queued') await sleep(20);
      expect(await deliveriesTo(ada, 'push')).toEqual([{ state: 'sent' }]);
      expect((await ada.client.get('/api/notifications')).body.items).toHaveLength(1);
    },
    PATIENCE,
  );
});

describe('when a worker is told to end in the middle of an attempt', () => {
  /** The first request of a path is answered when `finish` is called. */
  function answerLater(path: string): () => void {
    let held: ServerResponse | undefined;
    receiver.answer(path, response => {
      held = response;
      receiver.answer(path, 200);
    });
    return () => void held?.writeHead(200).end();
  }

  it(
    'it waits for the answer, and the webhook gets the message once',
    async () => {
      const ada = await service.person();
      const id = await webhook(ada, '/slow');
      const finish = answerLater('/slow');
      const worker = await workers.start({ DRAIN_SECONDS: '3600' });
      await ask(ada);
      await receiver.at('/slow');
      const stopped = worker.stop();
      while (!worker.lines.some(({ msg }) => msg === 'stopping')) await sleep(20);
      finish();
      expect(await stopped).toBe(0);
      expect(worker.errors).toEqual([]);
      expect(await messagesTo(id)).toEqual([{ state: 'sent', attempts: 1, holder: null }]);
      expect(await receiver.at('/slow')).toHaveLength(1);
    },
    PATIENCE,
  );

  it(
    'and has no time to wait, the next worker sends the same message again',
    async () => {
      const ada = await service.person();
      const id = await webhook(ada, '/cut-off');
      hangOnce('/cut-off', 200);
      const worker = await workers.start({ DRAIN_SECONDS: '0' });
      await ask(ada);
      await receiver.at('/cut-off');
      expect(await worker.stop()).toBe(0);
      expect(await messagesTo(id)).toEqual([{ state: 'pending', attempts: 0, holder: null }]);
      await workers.start();
      expect(await attempts(ada, id)).toMatchObject([{ succeeded: true }]);
      const [first, second, ...more] = idsIn(await receiver.at('/cut-off', 2));
      expect([second, more]).toEqual([first, []]);
      expect(await messagesTo(id)).toEqual([{ state: 'sent', attempts: 1, holder: null }]);
    },
    PATIENCE,
  );
});

it(
  'what an attempt found out is written down after all where the database refused it, and the message is not held for ever',
  async () => {
    const ada = await service.person();
    const id = await webhook(ada, '/unwritten');
    const worker = await workers.start();
    const barrier = await Barrier.raise(service, 'webhook_attempt');
    await ask(ada);
    await receiver.at('/unwritten');
    await barrier.holds(1);
    await barrier.undo();
    await barrier.lift();
    expect(await attempts(ada, id)).toMatchObject([{ succeeded: true }]);
    expect(new Set(idsIn(await receiver.at('/unwritten', 2))).size).toBe(1);
    expect(await messagesTo(id)).toMatchObject([{ state: 'sent', holder: null }]);
    expect(worker.isRunning).toBe(true);
  },
  PATIENCE,
);
