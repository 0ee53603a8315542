import { type RateLimiterAbstract, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

const EVERY_MS = 200;

/** Exchanges counts with the other processes, one caller after the other, so that it never takes a second connection. */
export class CountExchange {
  private waiting = new Map<SharedCounter, Set<string>>();
  private timer: NodeJS.Timeout | undefined;
  private last = Promise.resolve();
  private failing = false;

  /** @param onFailure called once when exchanges begin to fail */
  constructor(private readonly onFailure: (error: unknown) => void) {}

  /** Exchanges nothing by itself any more. */
  close(): void {
    clearTimeout(this.timer);
  }

  /** Exchanges this count soon. */
  add(counter: SharedCounter, caller: string): void {
    const callers = this.waiting.get(counter) ?? new Set();
    this.waiting.set(counter, callers.add(caller));
    this.timer ??= setTimeout(() => void this.run(), EVERY_MS).unref();
  }

  /** Exchanges what waits, now; what fails waits for its caller's next request. */
  run(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.last = this.last.then(() => this.shareAll());
    return this.last;
  }

  private async shareAll(): Promise<void> {
    const waiting = this.waiting;
    this.waiting = new Map();
    try {
      for (const [counter, callers] of waiting) for (const caller of callers) await counter.share(caller);
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.onFailure(error);
      this.failing = true;
    }
  }
}

const MAX_CALLERS = 100_000;
/** Part of a limit that a process may let through before it shares its count. */
const QUIET_SHARE = 10;
/** How far the clocks of two machines may be apart. */
const CLOCK_SKEW_MS = 60_000;

interface SharedCounterOptions {
  readonly limit: number;
  /** How long a count lasts, from the first one on. */
  readonly seconds: number;
  readonly exchange: CountExchange;
  /** The counts of all processes. */
  readonly everywhere: Pick<RateLimiterAbstract, 'penalty'>;
  readonly maxCallers?: number;
}

/**
 * Counts what callers do, in memory; every tenth of the limit it exchanges a caller's count with the other processes,
 * soon after and off the path of requests. Where that fails, each process goes on by its own counts.
 */
export class SharedCounter {
  private readonly here: RateLimiterMemory;
  /** What the others do not know yet, by caller; the count that began first comes first. */
  private readonly unshared = new Map<string, number>();

  constructor(private readonly options: SharedCounterOptions) {
    const { limit, seconds } = options;
    this.here = new RateLimiterMemory({ points: limit, duration: seconds });
  }

  /** Counts one; beyond the limit, it is over the count that it answers. */
  async take(caller: string): Promise<RateLimiterRes> {
    const { limit, exchange } = this.options;
    const taken = await this.here.penalty(caller);
    if (taken.isFirstInDuration) await this.begin(caller);
    if (taken.consumedPoints > limit) return taken;
    const unshared = (this.unshared.get(caller) ?? 0) + 1;
    this.unshared.set(caller, unshared);
    if (unshared >= limit / QUIET_SHARE) exchange.add(this, caller);
    return taken;
  }

  /** Takes one back that was counted here and belongs elsewhere. */
  async giveBack(caller: string): Promise<void> {
    await this.here.reward(caller);
    const unshared = this.unshared.get(caller);
    if (unshared !== undefined) this.unshared.set(caller, unshared - 1);
  }

  /** Shares what the caller did here with the other processes, and learns what all did. */
  async share(caller: string): Promise<void> {
    const known = await this.here.get(caller);
    const own = this.unshared.get(caller) ?? 0;
    if (!known || known.msBeforeNext <= 0 || own <= 0) return;
    this.unshared.set(caller, 0);
    const all = await this.exchangeCount(caller, own, Math.ceil(known.msBeforeNext / 1000));
    // Without time left the store would keep the count for ever.
    if (all.msBeforeNext <= 0) return;
    const since = this.unshared.get(caller) ?? 0;
    await this.here.set(caller, all.consumedPoints + since, all.msBeforeNext / 1000);
  }

  private async exchangeCount(caller: string, own: number, customDuration: number): Promise<RateLimiterRes> {
    try {
      const all = await this.options.everywhere.penalty(caller, own, { customDuration });
      this.requirePlausible(all, own);
      return all;
    } catch (error) {
      this.unshared.set(caller, (this.unshared.get(caller) ?? 0) + own);
      throw error;
    }
  }

  /** A count that no database could have kept, from a damaged connection, must not lock a caller out. */
  private requirePlausible({ consumedPoints, msBeforeNext }: RateLimiterRes, own: number): void {
    const isCount = Number.isSafeInteger(consumedPoints) && consumedPoints >= own;
    const isWindow = msBeforeNext >= 0 && msBeforeNext <= this.options.seconds * 1000 + CLOCK_SKEW_MS;
    if (!isCount || !isWindow)
      throw new Error(`the database counted ${consumedPoints} for ${msBeforeNext} ms, which cannot be`);
  }

  private async begin(caller: string): Promise<void> {
    this.unshared.delete(caller);
    this.unshared.set(caller, 0);
    if (this.unshared.size <= (this.options.maxCallers ?? MAX_CALLERS)) return;
    const [oldest = ''] = this.unshared.keys();
    this.unshared.delete(oldest);
    await this.here.delete(oldest);
  }
}
