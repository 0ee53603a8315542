import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { DrainTimer, type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { type ClaimedMessage, MessagesStore, WEBHOOKS_TOPIC } from './messages.store.js';
import { WebhookAttempts } from './webhook-attempts.js';

/** Attempts of this process; those that wait for a receiver that does not answer cost little. */
const MAX_AT_ONCE = 200;

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
    private readonly leases: Leases,
    private readonly timers: DueTimers,
    private readonly drain: DrainTimer,
    private readonly messages: MessagesStore,
    private readonly attempts: WebhookAttempts,
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
      await this.attempts.make(message, AbortSignal.any([this.stopping.signal, this.leases.signal]));
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
}
