import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import {
  type Delivery,
  type HandOver,
  NotificationChannel,
  type Targets,
} from '../channels/notification-channel.js';
import { type Notification } from '../types/notification.js';
import { typeOf } from '../types/types.js';
import { EndpointsStore } from './endpoints.store.js';
import { MessagesStore } from './messages.store.js';
import { messageBody } from './standard-webhooks.js';

/** Hands notifications over to the messages of webhooks, which have attempts of their own. */
@Injectable()
export class WebhookChannel extends NotificationChannel {
  readonly name = 'webhook';
  readonly retryDelays = [];
  readonly disturbs = false;

  constructor(
    private readonly config: Config,
    private readonly endpoints: EndpointsStore,
    private readonly messages: MessagesStore,
  ) {
    super();
  }

  async targets(unit: UnitOfWork, notifications: readonly Notification[]): Promise<Targets[]> {
    const told = await this.endpoints.findTargets(
      unit,
      notifications.map(notification => ({
        notification,
        isPersonal: (typeOf(notification.type)?.needs ?? null) === null,
      })),
    );
    return notifications.map(({ id }) => ({ targets: told.get(id) ?? [] }));
  }

  async send({ target, notifications }: Delivery): Promise<HandOver> {
    return async unit => {
      for (const notification of notifications) {
        const { type, workspace_id, dedupe_key: event_key } = notification;
        const body = this.writeBody(notification);
        await this.messages.add(unit, { endpoint_id: target, event_key, type, workspace_id, body });
      }
    };
  }

  /** Ids and links, no words of people. */
  private writeBody(notification: Notification): string {
    const { severity, organization_id, workspace_id, link, data } = notification;
    return messageBody(notification.type, new Date(notification.created_at), {
      ...data,
      severity,
      organization_id,
      workspace_id,
      link: link && new URL(link, this.config.baseUrl).href,
    });
  }
}
