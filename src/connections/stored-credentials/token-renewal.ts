import { setTimeout as sleep } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { Topics } from '../../platform/topics/index.js';
import {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  type RefreshedTokens,
  Refresher,
} from './refresher.js';
import { type TokenSetState, tokensChanged } from './token-events.js';
import { decode, renewed, type TokenSet } from './token-set.js';
import { connectionTopic, type TokenSetRow, TokensStore } from './tokens.store.js';

const TIMEOUT_MS = 20_000;
const FAULT_SECONDS = 5;
const MAX_FAULT_SECONDS = 900;
const ERROR_SECONDS = 60;
const MAX_SECONDS = 3600;
/** Shortest time between two renewals after rejections. */
const REJECTED_SECONDS = 30;
/** How long writing new tokens is retried. */
const WRITE_MS = 60_000;
const WRITE_PAUSE_MS = 500;

/** Renews tokens that this process has claimed. Several processes never renew the same ones at once. */
@Injectable()
export class TokenRenewal implements OnModuleInit, BeforeApplicationShutdown {
  private readonly refreshers = new Map<string, Refresher>();
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(
    private readonly database: Database,
    private readonly store: TokensStore,
    private readonly leases: Leases,
    private readonly topics: Topics,
    private readonly events: Events,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.leases.recover('token_set', async () => {
      const released = await this.store.releaseOrphaned(id => this.underWay.has(id));
      this.topics.publish(...released.map(id => connectionTopic(id)));
    });
  }

  /** A renewal under way is finished: the provider may have given new tokens already. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.underWay.values());
  }

  register(kind: string, refresher: Refresher): void {
    if (this.refreshers.has(kind)) throw new Error(`Tokens of ${kind} have two refreshers`);
    this.refreshers.set(kind, refresher);
  }

  /** Claims and renews; false where another does or has. Failures are entered in the row. */
  renew(row: TokenSetRow, isRejected = false): Promise<boolean> {
    return this.claimed(row, () => this.attempt(row, isRejected));
  }

  /** Renews tokens that are claimed already. */
  async renewClaimed(row: TokenSetRow): Promise<void> {
    // A request here wanted to claim it, and was late.
    while (this.underWay.has(row.id)) await this.underWay.get(row.id);
    await this.during(row.id, () => this.attempt(row, false));
  }

  /** Asks whether the provider still takes tokens that cannot be renewed. */
  check(row: TokenSetRow): Promise<boolean> {
    return this.claimed(row, async () => {
      const takes = await this.ask(row, (refresher, current, signal) =>
        refresher.accepts ? refresher.accepts(row.id, current, signal) : Promise.resolve(true),
      );
      if (takes instanceof Error) await this.fail(row, takes);
      else if (takes) await this.putOff(row, row.state, null, REJECTED_SECONDS);
      else await this.fail(row, new GrantRejected('The provider does not accept it any more'));
    });
  }

  /** Marks the grant as over, unless the tokens were replaced meanwhile. */
  async lose(row: TokenSetRow, reason: string): Promise<void> {
    await this.database.transaction(async unit => {
      if (await this.store.lose(unit, row, reason)) await this.publish(unit, row, 'needs_reauth', reason);
    });
  }

  private async claimed(row: TokenSetRow, work: () => Promise<void>): Promise<boolean> {
    await this.leases.requireFresh();
    // Others of this process that want the same wait as those of others do.
    if (this.underWay.has(row.id)) return false;
    let isOurs = false;
    await this.during(row.id, async () => {
      isOurs = await this.store.claim(row.id, row.revision);
      if (isOurs) await work();
    });
    return isOurs;
  }

  private async during(id: string, work: () => Promise<void>): Promise<void> {
    const done = work().finally(() => this.underWay.delete(id));
    this.underWay.set(
      id,
      done.catch(() => undefined),
    );
    await done;
  }

  private async attempt(row: TokenSetRow, isRejected: boolean): Promise<void> {
    let current: TokenSet | undefined;
    const given = await this.ask(row, (refresher, kept, signal) => {
      current = kept;
      return refresher.refresh(row.id, kept, signal);
    });
    if (given instanceof Error || !current) await this.fail(row, given);
    else await this.keep(row, renewed(current, given), isRejected ? REJECTED_SECONDS : 0);
  }

  private async ask<T extends RefreshedTokens | boolean>(
    row: TokenSetRow,
    work: (refresher: Refresher, current: TokenSet, signal: AbortSignal) => Promise<T>,
  ): Promise<T | Error> {
    try {
      const refresher = this.refreshers.get(row.kind);
      const opened = await this.store.open(row);
      if (!refresher || !opened) throw new Error(`Nothing renews tokens of ${row.kind}`);
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await work(refresher, decode(opened.secret, row.scopes), signal);
    } catch (error) {
      return error as Error;
    }
  }

  /** Retries while the database is away: the new tokens may be the only valid ones. */
  private async keep(row: TokenSetRow, tokens: TokenSet, pauseSeconds: number): Promise<void> {
    const until = performance.now() + WRITE_MS;
    for (;;)
      try {
        await this.database.transaction(async unit => {
          const before = await this.store.replace(unit, row, tokens, pauseSeconds);
          if (before && before.state !== 'active') await this.publish(unit, row, 'active', null);
        });
        return;
      } catch (error) {
        if (!isOutage(error) || performance.now() > until) throw error;
        await sleep(WRITE_PAUSE_MS);
      }
  }

  private async fail(row: TokenSetRow, error: unknown): Promise<void> {
    if (error instanceof GrantRejected) return this.lose(row, error.message);
    const doubled = 2 ** Math.min(row.failures, 12);
    const spread = 0.8 + 0.4 * Math.random();
    if (error instanceof ClientRejected) {
      const seconds = Math.min(ERROR_SECONDS * doubled, MAX_SECONDS) * spread;
      await this.putOff(row, 'error', error.message, seconds);
      return;
    }
    if (!(error instanceof ProviderFault))
      this.log.warn({ err: error, token_set: row.id }, 'tokens could not be renewed; trying again');
    const asked = error instanceof ProviderFault ? (error.retryAfterMs ?? 0) / 1000 : 0;
    const reason = error instanceof ProviderFault ? error.message : 'The provider could not be asked';
    const seconds = Math.max(Math.min(FAULT_SECONDS * doubled, MAX_FAULT_SECONDS) * spread, asked);
    await this.putOff(row, row.state, reason, Math.min(seconds, MAX_SECONDS));
  }

  private async putOff(
    row: TokenSetRow,
    state: TokenSetState,
    reason: string | null,
    seconds: number,
  ): Promise<void> {
    await this.database.transaction(async unit => {
      const before = await this.store.putOff(unit, row, { state, reason, seconds });
      if (before && before !== state) await this.publish(unit, row, state, reason);
    });
  }

  private publish(unit: UnitOfWork, row: TokenSetRow, state: TokenSetState, reason: string | null) {
    const { kind, id, organization_id } = row;
    return this.events.publish(unit, tokensChanged, { kind, id, organization_id, state, reason });
  }
}
