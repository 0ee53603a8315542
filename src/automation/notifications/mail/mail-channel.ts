import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Mailer, writeLetter } from '../../../platform/mail/index.js';
import {
  type Delivery,
  type HandOver,
  NotificationChannel,
  type Targets,
} from '../channels/notification-channel.js';
import { RecipientsStore } from '../delivery/recipients.store.js';
import { type Notification } from '../types/notification.js';
import { typeOf } from '../types/types.js';
import { Unsubscribing } from './unsubscribing.service.js';

/** Most notifications that a digest lists; the rest is in the inbox. */
const MAX_LISTED = 50;

/**
 * To the address of the account, once its owner has confirmed it: what is sent holds names that others chose. The outbox of
 * `platform/mail` sends it, and retries.
 */
@Injectable()
export class MailChannel extends NotificationChannel {
  readonly name = 'mail';
  readonly retryDelays = [];
  readonly disturbs = true;

  constructor(
    private readonly recipients: RecipientsStore,
    private readonly mailer: Mailer,
    private readonly unsubscribing: Unsubscribing,
  ) {
    super();
  }

  async targets(unit: UnitOfWork, notifications: readonly Notification[]): Promise<Targets[]> {
    if (!this.mailer.isConfigured)
      return notifications.map(() => ({
        targets: [],
        reason: 'This installation sends no mail (SMTP_URL)',
      }));
    const people = notifications.map(({ user_id }) => user_id);
    const addresses = await this.recipients.confirmedAddresses(unit, people);
    return people.map(id => {
      const address = addresses.get(id);
      return address
        ? { targets: [address] }
        : { targets: [], reason: 'The e-mail address is not confirmed' };
    });
  }

  async send({ target, userId, notifications }: Delivery): Promise<HandOver | undefined> {
    const types = [...new Set(notifications.map(({ type }) => type))].filter(
      type => !typeOf(type)?.always?.mail,
    );
    const url =
      types.length > 0 ? this.unsubscribing.linkFor({ userId, channel: this.name, types }) : undefined;
    const [first] = notifications;
    if (!first) return undefined;
    const letter = notifications.length === 1 ? letterOf(first) : writeDigest(notifications);
    const { text, html } = writeLetter({
      ...letter,
      footer: 'You get this from your account. Your preferences say what is sent to you, where and when.',
      aside: url ? { label: 'Get no more of these', url } : undefined,
    });
    const headers = url
      ? { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
      : undefined;
    return unit => this.mailer.send(unit, { to: target, subject: letter.heading, text, html, headers });
  }
}

const letterOf = ({ title, body, link }: Notification) => ({
  heading: title,
  paragraphs: [body],
  action: link === null ? undefined : { label: 'Open', url: link },
});

function writeDigest(notifications: readonly Notification[]) {
  const paragraphs = notifications.slice(0, MAX_LISTED).map(({ title, body }) => `${title}: ${body}`);
  const others = notifications.length - paragraphs.length;
  if (others > 0) paragraphs.push(`And ${others} more.`);
  return { heading: `${notifications.length} notifications`, paragraphs };
}
