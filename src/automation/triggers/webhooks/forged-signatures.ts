import { Injectable } from '@nestjs/common';
import type { RateLimiterPostgres } from 'rate-limiter-flexible';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { Counters, networkOf } from '../../../platform/limits/index.js';

const MAX = 20;
const SECONDS = 600;

/** Counts signatures that were wrong, by address: whoever guesses is told no more than that. */
@Injectable()
export class ForgedSignatures {
  private readonly counter: RateLimiterPostgres;

  constructor(counters: Counters) {
    this.counter = counters.of({ table: 'rate_count', prefix: 'webhook-signature', seconds: SECONDS });
  }

  /** Throws TooManyRequests beyond 20 in 10 minutes. */
  async count(address: string): Promise<void> {
    const { consumedPoints, msBeforeNext } = await this.counter.penalty(networkOf(address));
    if (consumedPoints <= MAX) return;
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    throw new TooManyRequests(
      `More than ${MAX} wrong signatures from this address; try again in ${seconds} s`,
      {
        'retry-after': String(seconds),
      },
    );
  }
}
