import { Global, Module, OnModuleInit } from '@nestjs/common';
import { Maintenance } from '../maintenance/index.js';
import { CountExchange } from './count-exchange.js';
import { Counters } from './counters.js';
import { RateLimits } from './rate-limits.js';

const FIVE_MINUTES_MS = 300_000;
const HOUR_MS = 3_600_000;

/** How often a caller may ask. */
@Global()
@Module({ providers: [RateLimits, CountExchange, Counters], exports: [RateLimits, Counters] })
export class LimitsModule implements OnModuleInit {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly counters: Counters,
  ) {}

  onModuleInit(): void {
    const { maintenance, counters } = this;
    maintenance.every(FIVE_MINUTES_MS, 'rate_limits', () => counters.deleteExpired('rate_count'));
    maintenance.every(HOUR_MS, 'remove_attempt_counts', () => counters.deleteExpired('attempt_count'));
  }
}
