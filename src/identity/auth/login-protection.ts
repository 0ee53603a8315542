import { Injectable } from '@nestjs/common';
import { type RateLimiterPostgres } from 'rate-limiter-flexible';
import { hashSecret } from '../../platform/access/index.js';
import { TooManyRequests } from '../../platform/errors/index.js';
import { Counters, networkOf } from '../../platform/limits/index.js';

const MAX_WAIT_SECONDS = 900;

/** Counts failures; after some that are free, each further one doubles the wait, from a second on. */
class FailureBackoff {
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

  async recordFailure(key: string): Promise<void> {
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

/**
 * At most so many at once for each key in this process; the others wait in line. What is counted after the fact is then
 * overrun by no more than that by those who come all at once.
 */
class KeyedConcurrency {
  private readonly lines = new Map<string, { working: number; waiting: (() => void)[] }>();

  constructor(private readonly atOnce: number) {}

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.lines.get(key) ?? { working: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.working < this.atOnce) line.working++;
    else await new Promise<void>(resolve => line.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = line.waiting.shift();
      // The turn passes to the next in line directly, so that no other call overtakes it.
      if (next) next();
      else if (--line.working === 0) this.lines.delete(key);
    }
  }
}

export const HOUR_SECONDS = 3600;

const DAY_SECONDS = 86_400;
/** Hashing a password is work: one network may have so many hashed at once. */
const AT_ONCE = 4;

/**
 * Slows the guessing of passwords down without locking anyone out: failures count against the network they come from, never
 * against the account alone, so the right password from elsewhere works at any time.
 */
@Injectable()
export class LoginProtection {
  private readonly turns = new KeyedConcurrency(AT_ONCE);
  /** With one account, from one network. */
  private readonly pairs: FailureBackoff;
  /** With all accounts, from one network, which may be a whole office. */
  private readonly networks: FailureBackoff;

  constructor(counters: Counters) {
    this.pairs = new FailureBackoff(counters, 'login', 5, DAY_SECONDS);
    this.networks = new FailureBackoff(counters, 'login-from', 50, HOUR_SECONDS);
  }

  /**
   * Runs `check`, which answers undefined for a wrong password, and counts what comes of it. Refuses (429) without a look
   * at the password while the wait after earlier failures lasts. Accounts that do not exist are treated no differently.
   */
  async attempt<T>(
    email: string,
    address: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const network = networkOf(address);
    const pair = pairOf(email, network);
    return this.turns.run(network, async () => {
      const failures = await this.pairs.admit(pair);
      await this.networks.admit(network);
      const found = await check();
      if (found === undefined) {
        await this.pairs.recordFailure(pair);
        await this.networks.recordFailure(network);
      } else if (failures > 0) await this.pairs.forget(pair);
      return found;
    });
  }

  /** Forgets the failures of an account from a network, once its owner has proved their identity by other means. */
  async forgive(email: string, address: string): Promise<void> {
    await this.pairs.forget(pairOf(email, networkOf(address)));
  }
}

/** What was typed for an address may be anything, even a password, so it is not kept as it is. */
const pairOf = (email: string, network: string) => hashSecret(`${network} ${email}`);
