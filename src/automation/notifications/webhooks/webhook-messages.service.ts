import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Database, isoOrNull, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { ById, ListById, type Page, toView } from '../../../platform/dto/index.js';
import { Conflict, Invalid } from '../../../platform/errors/index.js';
import { EndpointsStore } from './endpoints.store.js';
import { type AttemptRow, KEPT_DAYS, MessagesStore } from './messages.store.js';
import { messageBody, webhookIdOf } from './standard-webhooks.js';
import {
  RecoveredView,
  RecoverWebhook,
  WebhookAttemptPage,
  WebhookAttemptView,
  WebhookMessageView,
} from './webhooks.dto.js';

const DAY_MS = 86_400_000;
const TEST_TYPE = 'webhook.test';

/** What was sent to webhooks, and sending it again. */
@Injectable()
export class WebhookMessagesService {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsStore,
    private readonly messages: MessagesStore,
  ) {}

  @Action('webhook_test', 'POST /api/notifications/webhooks/:id/test', {
    on: { id: 'webhook' },
    summary: 'Send a message of the type `webhook.test`; the attempts of the webhook tell how it went',
    effect: 'write',
    permission: 'webhook.manage',
    input: ById({ id: 'The webhook' }),
    output: WebhookMessageView,
    commitsAnswer: true,
    refuses: { 409: 'It is disabled' },
  })
  async test(actor: Actor, { id: endpoint_id }: ById): Promise<WebhookMessageView> {
    return this.sending(actor, endpoint_id, async unit => {
      const event_key = `${TEST_TYPE}:${newId()}`;
      const body = messageBody(TEST_TYPE, new Date(), { webhook_id: endpoint_id });
      const id = await this.messages.add(unit, {
        endpoint_id,
        event_key,
        type: TEST_TYPE,
        workspace_id: null,
        body,
      });
      return unit.answers({ webhook_id: webhookIdOf(id ?? '') });
    });
  }

  @Action('webhook_attempt_list', 'GET /api/notifications/webhooks/:id/attempts', {
    on: { id: 'webhook' },
    summary: 'List the attempts to send to a webhook, newest first; they are kept for 30 days',
    permission: 'webhook.read',
    input: ListById({ id: 'The webhook' }),
    output: WebhookAttemptPage,
  })
  async listAttempts(actor: Actor, { id, ...page }: ListById): Promise<Page<WebhookAttemptView>> {
    await this.endpoints.require(actor, 'webhook.read', id);
    return this.messages.attempts(id, page, toAttemptView);
  }

  @Action('webhook_recover', 'POST /api/notifications/webhooks/:id/recover', {
    on: { id: 'webhook' },
    summary: 'Send everything again that failed since a time',
    effect: 'write',
    permission: 'webhook.manage',
    input: RecoverWebhook,
    output: RecoveredView,
    commitsAnswer: true,
    refuses: { 409: 'It is disabled' },
  })
  async recover(actor: Actor, { id, since }: RecoverWebhook): Promise<RecoveredView> {
    const from = new Date(since);
    if (from.getTime() < Date.now() - KEPT_DAYS * DAY_MS)
      throw new Invalid(`since must be at most ${KEPT_DAYS} days ago: older messages are gone`);
    return this.sending(actor, id, async unit =>
      unit.answers({ messages: await this.messages.recover(unit, id, from) }),
    );
  }

  @Action('webhook_attempt_resend', 'POST /api/notifications/webhooks/attempts/:id/resend', {
    on: { id: 'webhook_attempt' },
    summary: 'Send again, at once, what an attempt sent',
    effect: 'write',
    permission: 'webhook.manage',
    input: ById({ id: 'The attempt' }),
    output: WebhookMessageView,
    commitsAnswer: true,
    refuses: { 409: 'The webhook is disabled' },
  })
  async resend(actor: Actor, { id }: ById): Promise<WebhookMessageView> {
    const endpoint = await this.endpoints.requireOfAttempt(actor, 'webhook.manage', id);
    return this.sending(actor, endpoint.id, async unit =>
      unit.answers({ webhook_id: webhookIdOf(await this.messages.resend(unit, id)) }),
    );
  }

  private sending<T>(actor: Actor, id: string, work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    return this.database.transaction(async unit => {
      const { state } = await this.endpoints.require(actor, 'webhook.manage', id, unit);
      if (state === 'disabled') throw new Conflict('The webhook is disabled; enable it first');
      return work(unit);
    });
  }
}

function toAttemptView(row: AttemptRow): WebhookAttemptView {
  const { message_id, reason, state, next_at } = row;
  return toView(WebhookAttemptView, row, {
    webhook_id: webhookIdOf(message_id),
    succeeded: reason === null,
    next_attempt_at: state === 'pending' ? isoOrNull(next_at) : null,
  });
}
