import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { Mailer, writeLetter } from '../../../platform/mail/index.js';
import { post } from '../channels/outgoing.js';
import { type EndpointRow, EndpointsStore } from './endpoints.store.js';
import { type ClaimedMessage, MessagesStore, type Outcome } from './messages.store.js';
import { retryDelay, signedHeaders, webhookIdOf } from './standard-webhooks.js';

const TIMEOUT_MS = 15_000;
const GONE = 410;

/** Sends a message to its webhook, and records how that went. */
@Injectable()
export class WebhookAttempts {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsStore,
    private readonly messages: MessagesStore,
    private readonly outgoing: GuardedFetch,
    private readonly mailer: Mailer,
    private readonly log: Log,
  ) {}

  /** Throws where the end of the attempt cannot be saved. */
  async make(message: ClaimedMessage, signal: AbortSignal): Promise<void> {
    if (!message.may_know) return this.messages.drop(message);
    const outcome = await this.send(message, signal);
    if (!outcome) return this.messages.putBack(message);
    await this.database.transaction(unit => this.settle(unit, message, outcome));
  }

  /** undefined where this process ends before there is an answer. */
  private async send(message: ClaimedMessage, signal: AbortSignal): Promise<Outcome | undefined> {
    const begun = performance.now();
    const durationMs = () => Math.round(performance.now() - begun);
    try {
      const { id, url, body } = message;
      const secrets = this.endpoints.openSecrets({ ...message, id: message.endpoint_id });
      const headers = {
        'content-type': 'application/json',
        ...signedHeaders(webhookIdOf(id), body, secrets),
      };
      const answer = await post(this.outgoing, url, { headers, body, signal, timeoutMs: TIMEOUT_MS });
      return { ...answer, durationMs: durationMs() };
    } catch (error) {
      if (signal.aborted) return undefined;
      this.log.error({ err: error, message_id: message.id }, 'a message to a webhook could not be signed');
      return { status: null, reason: 'It could not be signed', durationMs: durationMs() };
    }
  }

  private async settle(unit: UnitOfWork, message: ClaimedMessage, outcome: Outcome): Promise<void> {
    const isGone = outcome.status === GONE;
    const retryMs = isGone ? undefined : retryDelay(message.attempts, outcome.askedMs);
    await this.messages.finish(unit, message, outcome, retryMs);
    if (outcome.reason === null) return;
    const disabled = await this.messages.noteFailure(unit, message.endpoint_id, isGone);
    if (disabled && !isGone) await this.notify(unit, disabled);
  }

  private async notify(unit: UnitOfWork, endpoint: EndpointRow): Promise<void> {
    const { host } = new URL(endpoint.url);
    const letter = writeLetter({
      heading: 'A webhook was disabled',
      paragraphs: [
        `Everything that was sent to ${host} in the last five days failed, so nothing more is sent there.`,
        'Mend what receives it, then enable the webhook again. What it missed can be sent again for 30 days.',
      ],
      footer: `It is the webhook ${endpoint.id}.`,
    });
    for (const to of await this.endpoints.mailAddresses(unit, endpoint))
      await this.mailer.send(unit, { to, subject: `A webhook to ${host} was disabled`, ...letter });
  }
}
