import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { Config } from '../../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { Mailer, writeLetter } from '../../../platform/mail/index.js';
import { DrainTimer, type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { post } from '../channels/index.js';
import { type EndpointRow, EndpointsStore } from './endpoints.store.js';
import { type ClaimedMessage, MessagesStore, type Outcome, WEBHOOKS_TOPIC } from './messages.store.js';
import { retryDelay, signedHeaders, webhookIdOf } from './standard-webhooks.js';

const TIMEOUT_MS = 15_000;
/** Attempts of this process; those that wait for a receiver that does not answer cost little. */
const MAX_AT_ONCE = 200;
const GONE = 410;

/** Makes the attempts that are due. */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** By the id of the message. */
  private readonly underWay = new Map<string, Promise<void>>();
  /** A statement failed, so this process may hold messages that it knows nothing of. */
  private mayHoldOthers = false;
  private readonly stopping = new AbortController();
  private timer: DueTimer | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly timers: DueTimers,
    private readonly drain: DrainTimer,
    private readonly endpoints: EndpointsStore,
    private readonly messages: MessagesStore,
    private readonly outgoing: GuardedFetch,
    private readonly mailer: Mailer,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timer = this.timers.start({
      topic: WEBHOOKS_TOPIC,
      take: () => this.start(),
      next: () => this.messages.untilNext(),
      failure: 'cannot look for webhook messages that are due; trying again',
    });
    this.leases.recover('webhook', async () => this.timer?.wake());
  }

  async onModuleDestroy(): Promise<void> {
    await this.timer?.close();
  }

  /** An attempt that is cut off is made again, so that its receiver may get it twice. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.drain.wait(this.underWay.values());
    this.stopping.abort();
    await Promise.all(this.underWay.values());
  }

  /** Starts attempts that are due, as many as there is room for; returns how many. */
  private async start(): Promise<number> {
    try {
      if (this.mayHoldOthers) await this.releaseOthers();
      const claimed = await this.messages.claim(MAX_AT_ONCE - this.underWay.size);
      for (const message of claimed) this.underWay.set(message.id, this.attempt(message));
      return claimed.length;
    } catch (error) {
      this.mayHoldOthers = true;
      throw error;
    }
  }

  private releaseOthers(): Promise<void> {
    this.mayHoldOthers = false;
    return this.messages.releaseOthers([...this.underWay.keys()]);
  }

  private async attempt(message: ClaimedMessage): Promise<void> {
    try {
      if (!message.may_know) return await this.messages.drop(message);
      const outcome = await this.send(message);
      if (!outcome) return await this.messages.putBack(message);
      await this.database.transaction(unit => this.settle(unit, message, outcome));
    } catch (error) {
      this.mayHoldOthers = true;
      this.log.error(
        { err: error, message_id: message.id },
        'the end of a webhook attempt could not be saved; it is made again',
      );
    } finally {
      this.underWay.delete(message.id);
      this.timer?.wake();
    }
  }

  /** undefined where this process ends before there is an answer. */
  private async send(message: ClaimedMessage): Promise<Outcome | undefined> {
    const begun = performance.now();
    const signal = AbortSignal.any([this.stopping.signal, this.leases.signal]);
    const durationMs = () => Math.round(performance.now() - begun);
    try {
      const { id, url, body } = message;
      const secrets = this.endpoints.secretsOf({ ...message, id: message.endpoint_id });
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
    if (disabled && !isGone) await this.tell(unit, disabled);
  }

  private async tell(unit: UnitOfWork, endpoint: EndpointRow): Promise<void> {
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
