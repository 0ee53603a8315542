export { IDEMPOTENCY_KEY, Idempotency, IdempotencyInterceptor, OUTCOME } from './idempotency.js';
export { IdempotencyModule } from './idempotency.module.js';
export type { Outcome } from './idempotency-exchange.js';
export { IdempotencyLedger, type Standing } from './idempotency-ledger.js';
