import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import { type Actor, requireScope } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, isoOrNull, type UnitOfWork } from '../../../platform/database/index.js';
import { ById, DeletedView, type Page, toView } from '../../../platform/dto/index.js';
import { Conflict, Forbidden } from '../../../platform/errors/index.js';
import { requireReachable } from '../channels/outgoing.js';
import { type EndpointRow, EndpointsStore } from './endpoints.store.js';
import {
  CreateWebhook,
  ListWebhooks,
  UpdateWebhook,
  WebhookPage,
  WebhookView,
  WebhookWithSecretView,
} from './webhooks.dto.js';

const MAX_WEBHOOKS = 20;

/** Programs outside that receive events: a person's own webhooks, and those of organizations. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsStore,
    private readonly organizations: OrganizationsStore,
    private readonly outgoing: GuardedFetch,
    private readonly audit: Audit,
  ) {}

  @Action('webhook_list', 'GET /api/notifications/webhooks', {
    summary: 'List webhooks: your own, and those of organizations that you administer',
    permission: 'webhook.read',
    input: ListWebhooks,
    output: WebhookPage,
  })
  async list(actor: Actor, { organization_id, ...page }: ListWebhooks): Promise<Page<WebhookView>> {
    if (organization_id) await this.organizations.require(actor, 'webhook.read', organization_id);
    requireScope(actor, 'webhook.read');
    return this.endpoints.list(actor, organization_id, page, webhookView);
  }

  @Action('webhook_create', 'POST /api/notifications/webhooks', {
    summary:
      'Send notifications to an address, signed as Standard Webhooks; the secret is in the answer and nowhere else',
    description:
      'Each message is a POST of `{type, timestamp, data}` with ids and links. One that is not answered with 2xx within 15 ' +
      'seconds is sent again seven times within 28 hours, always with the same `webhook-id`; `Retry-After` of a 429 or 503 ' +
      'is kept, up to ten hours. Redirects are not followed; 410, and five days in which everything fails, disable the webhook.',
    consequence:
      'Whoever runs that address learns what happens: ids, kinds and times, for as long as the webhook stands.',
    permission: 'webhook.manage',
    input: CreateWebhook,
    output: WebhookWithSecretView,
    commitsAnswer: true,
    refuses: { 409: 'There are as many as there may be' },
  })
  async create(actor: Actor, input: CreateWebhook): Promise<WebhookWithSecretView> {
    const { types = [], description = '' } = input;
    const organization_id = input.organization_id ?? actor.credential.organization_id;
    requireScope(actor, 'webhook.manage');
    requireReachable(this.outgoing, input.url, 'url');
    return this.database.transaction(async unit => {
      if (organization_id) await this.organizations.require(actor, 'webhook.manage', organization_id, unit);
      else if (actor.type !== 'user') throw new Forbidden('Name the organization in organization_id');
      const owner = { user_id: organization_id ? null : actor.id, organization_id };
      if ((await this.endpoints.countBeside(unit, owner)) >= MAX_WEBHOOKS)
        throw new Conflict(`There are ${MAX_WEBHOOKS} webhooks already; delete one first`);
      const fields = { ...owner, url: input.url, types: [...new Set(types)], description };
      const { row, secret } = await this.endpoints.insert(unit, actor, fields);
      await this.record(unit, actor, 'webhook.create', row);
      return unit.answers({ ...webhookView(row), signing_secret: secret });
    });
  }

  @Action('webhook_get', 'GET /api/notifications/webhooks/:id', {
    on: { id: 'webhook' },
    summary: 'Read a webhook, without its secret',
    permission: 'webhook.read',
    input: ById({ id: 'The webhook' }),
    output: WebhookView,
  })
  async read(actor: Actor, { id }: ById): Promise<WebhookView> {
    return webhookView(await this.endpoints.require(actor, 'webhook.read', id));
  }

  @Action('webhook_update', 'PATCH /api/notifications/webhooks/:id', {
    on: { id: 'webhook' },
    summary: 'Change where a webhook is sent, or what it is told',
    consequence: 'Whoever runs the new address learns what happens, as the webhook now says.',
    permission: 'webhook.manage',
    input: UpdateWebhook,
    output: WebhookView,
  })
  async update(actor: Actor, { id, url, types, description }: UpdateWebhook): Promise<WebhookView> {
    return this.changing(actor, id, 'webhook.update', async unit => {
      if (url !== undefined) requireReachable(this.outgoing, url, 'url');
      return webhookView(
        await this.endpoints.change(unit, id, {
          ...(url !== undefined && { url }),
          ...(types && { types: [...new Set(types)] }),
          ...(description !== undefined && { description }),
        }),
      );
    });
  }

  @Action('webhook_delete', 'DELETE /api/notifications/webhooks/:id', {
    on: { id: 'webhook' },
    summary: 'Delete a webhook, with what waits to be sent to it',
    effect: 'destructive',
    consequence: 'Nothing is sent there any more; its secret and the record of its attempts are gone.',
    permission: 'webhook.manage',
    input: ById({ id: 'The webhook' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    return this.changing(actor, id, 'webhook.delete', async unit => {
      await this.endpoints.delete(unit, id);
      return DeletedView.of(id);
    });
  }

  @Action('webhook_rotate', 'POST /api/notifications/webhooks/:id/rotate', {
    on: { id: 'webhook' },
    summary: 'Give a webhook another secret; for 24 hours both sign',
    consequence: 'Whoever reads the answer can sign messages that the receiver takes for ours.',
    permission: 'webhook.manage',
    input: ById({ id: 'The webhook' }),
    output: WebhookWithSecretView,
    commitsAnswer: true,
  })
  async rotate(actor: Actor, { id }: ById): Promise<WebhookWithSecretView> {
    return this.changing(actor, id, 'webhook.rotate', async unit => {
      const { row, secret } = await this.endpoints.rotate(unit, id);
      return unit.answers({ ...webhookView(row), signing_secret: secret });
    });
  }

  @Action('webhook_enable', 'POST /api/notifications/webhooks/:id/enable', {
    on: { id: 'webhook' },
    summary: 'Enable a webhook that was disabled, as its receiver failed for five days or answered 410',
    consequence: 'Whoever runs that address learns again what happens.',
    permission: 'webhook.manage',
    input: ById({ id: 'The webhook' }),
    output: WebhookView,
    commitsAnswer: true,
  })
  async enable(actor: Actor, { id }: ById): Promise<WebhookView> {
    return this.changing(actor, id, 'webhook.enable', async unit => {
      const enabled = { state: 'enabled', disabled_reason: null, failing_since: null } as const;
      return unit.answers(webhookView(await this.endpoints.change(unit, id, enabled)));
    });
  }

  /** A change by who may make it, with its line in the audit log. */
  private changing<T>(
    actor: Actor,
    id: string,
    action: string,
    work: (unit: UnitOfWork) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async unit => {
      const endpoint = await this.endpoints.require(actor, 'webhook.manage', id, unit);
      await this.record(unit, actor, action, endpoint);
      return work(unit);
    });
  }

  private async record(unit: UnitOfWork, actor: Actor, action: string, row: EndpointRow): Promise<void> {
    const { id, organization_id, url } = row;
    const target = { type: 'webhook', id, organization_id };
    await this.audit.record(unit, actor, action, target, { host: new URL(url).host });
  }
}

function webhookView(row: EndpointRow): WebhookView {
  const { state } = row;
  const hasPrevious = row.previous_until !== null && new Date(row.previous_until) > new Date();
  return toView(WebhookView, row, {
    enabled: state === 'enabled',
    previous_secret_until: hasPrevious ? isoOrNull(row.previous_until) : null,
  });
}
