import type { RateLimiterPostgres } from 'rate-limiter-flexible';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { Counters } from '../../../platform/limits/index.js';

const MAX_WAIT_SECONDS = 900;

/** Counts failures; after some that are free, each further one doubles the wait, from a second on. */
export class Patience {
  private readonly failures: RateLimiterPostgres;
  private readonly waits: RateLimiterPostgres;

  /** `seconds`: how long failures count, from the first one on. */
  constructor(
    counters: Counters,
    prefix: string,
    private readonly free: number,
    seconds: number,
  ) {
    this.failures = counters.of({ table: 'attempt_count', prefix, seconds });
    this.waits = counters.of({ table: 'attempt_count', prefix: `${prefix}-wait`, seconds: MAX_WAIT_SECONDS });
  }

  /** Refuses (429) while the wait after earlier failures lasts; answers how many there were. */
  async admit(key: string): Promise<number> {
    const failures = (await this.failures.get(key))?.consumedPoints ?? 0;
    const wait = failures < this.free ? null : await this.waits.get(key);
    if (wait) throw tooManyRequests('Too many failed sign-ins', wait.msBeforeNext);
    return failures;
  }

  async noteFailure(key: string): Promise<void> {
    const { consumedPoints } = await this.failures.penalty(key);
    if (consumedPoints < this.free) return;
    await this.waits.set(key, 1, Math.min(2 ** (consumedPoints - this.free), MAX_WAIT_SECONDS));
  }

  async forget(key: string): Promise<void> {
    await this.failures.delete(key);
    await this.waits.delete(key);
  }
}

export function tooManyRequests(what: string, milliseconds: number): TooManyRequests {
  const left = Math.max(1, Math.ceil(milliseconds / 1000));
  return new TooManyRequests(`${what}; try again in ${left} seconds`, { 'retry-after': String(left) });
}
