import { Global, Module } from '@nestjs/common';
import { CountExchange } from '#libs/shared-counter/index.js';
import { Log } from '../log/index.js';
import { Counters } from './counters.js';
import { RateLimits } from './rate-limits.js';

/** How often a caller may ask. */
@Global()
@Module({
  providers: [
    RateLimits,
    Counters,
    {
      provide: CountExchange,
      inject: [Log],
      useFactory: (log: Log) =>
        new CountExchange(err =>
          log.warn({ err }, 'exchanging rate counts failed; this process counts alone for now'),
        ),
    },
  ],
  exports: [RateLimits, Counters],
})
export class LimitsModule {}
