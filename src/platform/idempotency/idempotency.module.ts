import { Global, Module, OnModuleInit } from '@nestjs/common';
import { Maintenance } from '../maintenance/index.js';
import { Idempotency } from './idempotency.js';
import { IdempotencyLedger } from './idempotency-ledger.js';
import { IdempotencyRoom } from './idempotency-room.js';

const FIVE_MINUTES_MS = 300_000;

/** Requests with an `Idempotency-Key`: each is executed once, and answered again with what it was answered. */
@Global()
@Module({
  providers: [Idempotency, IdempotencyLedger, IdempotencyRoom],
  exports: [Idempotency],
})
export class IdempotencyModule implements OnModuleInit {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly ledger: IdempotencyLedger,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(FIVE_MINUTES_MS, 'idempotency', () => this.ledger.deleteExpired());
  }
}
