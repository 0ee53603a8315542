import type { FastifyReply } from 'fastify';
import type { RateLimiterRes } from 'rate-limiter-flexible';
import { TooManyRequests } from '../errors/index.js';
import type { SharedCounter } from './shared-counter.js';

export type PolicyName = 'credential' | 'address' | 'invalid-credentials' | 'shared-files';

/** One limit on requests a minute, and what callers read of it (draft-ietf-httpapi-ratelimit-headers). */
export class RatePolicy {
  constructor(
    readonly name: PolicyName,
    /** Requests a minute; 0 for any number. */
    private readonly limit: number,
    /** How a refusal says what was counted. */
    private readonly counted: string,
    private readonly counter: SharedCounter,
  ) {}

  /** Counts one request of the caller; answers the refusal where that is one too many. */
  async count(caller: string, reply: FastifyReply): Promise<TooManyRequests | undefined> {
    const { name, limit, counter } = this;
    if (limit === 0) return undefined;
    const count = await counter.take(caller);
    const seconds = secondsLeft(count);
    void reply
      .header('ratelimit-policy', `"${name}";q=${limit};w=60`)
      .header('ratelimit', `"${name}";r=${count.remainingPoints};t=${seconds}`);
    if (count.consumedPoints <= limit) return undefined;
    return new TooManyRequests(`More than ${limit} ${this.counted}; try again in ${seconds} s`, {
      'retry-after': String(seconds),
    });
  }

  /** Takes back one request that belongs to another policy. */
  async giveBack(caller: string): Promise<void> {
    if (this.limit > 0) await this.counter.giveBack(caller);
  }
}

const secondsLeft = ({ msBeforeNext }: RateLimiterRes) => Math.max(1, Math.ceil(msBeforeNext / 1000));
