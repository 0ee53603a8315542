import { Global, Module } from '@nestjs/common';
import { Idempotency } from './idempotency.js';
import { IdempotencyLedger, IdempotencyRoom } from './idempotency-ledger.js';

/** Requests with an `Idempotency-Key`: each is executed once, and answered again with what it was answered. */
@Global()
@Module({
  providers: [Idempotency, IdempotencyLedger, IdempotencyRoom],
  exports: [Idempotency],
})
export class IdempotencyModule {}
