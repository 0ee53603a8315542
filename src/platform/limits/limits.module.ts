import { Global, Module } from '@nestjs/common';
import { CountExchange, Counters } from './counters.js';
import { RateLimits } from './rate-limits.js';

/** How often a caller may ask. */
@Global()
@Module({ providers: [RateLimits, CountExchange, Counters], exports: [RateLimits, Counters] })
export class LimitsModule {}
