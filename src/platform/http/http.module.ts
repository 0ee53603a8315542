import { Global, Module, OnModuleInit } from '@nestjs/common';
import { Maintenance } from '../maintenance/maintenance.js';
import { EventStreams } from './event-streams.js';
import { Idempotency } from './idempotency.js';
import { IdempotencyLedger } from './idempotency-ledger.js';
import { IdempotencyRoom } from './idempotency-room.js';
import { IdempotencyVault } from './idempotency-vault.js';
import { RateLimits } from './rate-limit.js';
import { RateLimitShare } from './rate-limit-share.js';
import { minuteOf } from './rate-limit-window.js';

const FIVE_MINUTES_MS = 300_000;

/** What stands between a request and the routes, whichever it is for. */
@Global()
@Module({
  providers: [
    EventStreams,
    Idempotency,
    IdempotencyLedger,
    IdempotencyRoom,
    IdempotencyVault,
    RateLimits,
    RateLimitShare,
  ],
  exports: [EventStreams, Idempotency, RateLimits],
})
export class HttpModule implements OnModuleInit {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly ledger: IdempotencyLedger,
    private readonly rates: RateLimitShare,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(FIVE_MINUTES_MS, 'idempotency', () => this.ledger.deleteExpired());
    this.maintenance.every(FIVE_MINUTES_MS, 'rate_limits', () => this.rates.deleteOld(minuteOf(Date.now())));
  }
}
