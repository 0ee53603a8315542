import { Global, Module, OnModuleInit } from '@nestjs/common';
import { Maintenance } from '../maintenance/index.js';
import { RateLimits } from './rate-limit.js';
import { RateLimitShare } from './rate-limit-share.js';
import { minuteOf } from './rate-limit-window.js';

const FIVE_MINUTES_MS = 300_000;

/** How often a caller may ask. */
@Global()
@Module({ providers: [RateLimits, RateLimitShare], exports: [RateLimits] })
export class LimitsModule implements OnModuleInit {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly rates: RateLimitShare,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(FIVE_MINUTES_MS, 'rate_limits', () => this.rates.deleteOld(minuteOf(Date.now())));
  }
}
