import { type EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalRequests } from '../../src/agents/approvals/index.js';
import type { Actor } from '../../src/platform/access/index.js';
import { Queues } from '../../src/platform/jobs/index.js';
import { FakeSmtpServer } from '../fakes/smtp-server.js';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

let smtp: FakeSmtpServer;
let service: TestService;
let ada: Person;
let stranger: Person;

beforeAll(async () => {
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({ SMTP_URL: smtp.url });
  ada = await service.person('Ada');
  stranger = await service.person('Mallory');
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
});

const actorOf = ({ id, email }: Person): Actor => ({
  ...{ type: 'user', id, name: 'Ada', email },
  credential: {
    ...{ type: 'session', id, scopes: null, expires_at: null, organization_id: null, workspace_ids: null },
  },
});

let asked = 0;
/** A program asks a person about a call; returns the id of the question. */
async function ask(person: Person, workspaceId: string | null = null): Promise<string> {
  const { id } = await service.app.get(ApprovalRequests, { strict: false }).request({
    actor: actorOf(person),
    organizationId: workspaceId && person.organizationId,
    workspaceId,
    tool: 'share_create',
    effect: 'expose',
    input: { number: ++asked },
    clientName: 'A robot',
  });
  return id;
}

/** Waits until every job about notifications is done. */
async function settled(): Promise<void> {
  const worker = service.app.get(Queues, { strict: false }).worker('notifications') as EventEmitter;
  for (;;) {
    const next = once(worker, 'completed');
    const left = await service.database.query(
      "select id from accepted_job where queue = 'notifications' and failed_at is null",
    );
    if (left.length === 0) return;
    await next;
  }
}

const inbox = async (person: Person, query = ''): Promise<Json> =>
  (await person.client.get(`/api/notifications${query}`)).body;

describe('the inbox', () => {
  it('has what happened, newest first, with how many are unread', async () => {
    const workspace = await service.workspace(ada);
    const first = await ask(ada);
    const second = await ask(ada, workspace);
    await settled();
    const { items, unread_count, next_cursor } = await inbox(ada);
    expect(items.map(({ data }: Json) => data.approval_id)).toEqual([second, first]);
    expect([unread_count, next_cursor]).toEqual([2, null]);
    expect(items[0]).toMatchObject({
      type: 'approval.requested',
      category: 'approval',
      severity: 'warning',
      title: 'A robot asks to call share_create',
      link: expect.stringContaining(`/approvals/${second}`),
      workspace_id: workspace,
      read_at: null,
    });
    expect((await inbox(stranger)).items).toEqual([]);
    const mails = await smtp.mailsTo(ada.email, 3);
    const told = mails.filter(({ text }) => text.includes('A robot asks to call share_create'));
    expect(told).toHaveLength(2);
  });
});
