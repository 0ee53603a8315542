import { Injectable } from '@nestjs/common';
import type { RateLimiterPostgres } from 'rate-limiter-flexible';
import { Counters, networkOf } from '../../platform/limits/index.js';
import { HOUR_SECONDS, tooManyRequests } from './login-protection.js';

/** How often one network, or one account, may ask for something costly in an hour. */
@Injectable()
export class Quotas {
  private readonly counts: RateLimiterPostgres;

  constructor(counters: Counters) {
    this.counts = counters.of({ table: 'attempt_count', prefix: '', seconds: HOUR_SECONDS });
  }

  /** Counts one `what` of those from `address`; 429 beyond `most` an hour. */
  async spendOfAddress(what: string, address: string, most: number): Promise<void> {
    await this.spend(`${what}:${networkOf(address)}`, most);
  }

  /** Counts one `what` of those of an account; 429 beyond `most` an hour. */
  async spendOfAccount(what: string, id: string, most: number): Promise<void> {
    await this.spend(`${what}:${id}`, most);
  }

  private async spend(key: string, most: number): Promise<void> {
    const { consumedPoints, msBeforeNext } = await this.counts.penalty(key);
    if (consumedPoints > most) throw tooManyRequests('Too many requests of this kind', msBeforeNext);
  }
}
