export { IdempotencyInterceptor, OUTCOME } from './idempotency.interceptor.js';
export { IDEMPOTENCY_KEY, Idempotency } from './idempotency.js';
export { IdempotencyModule } from './idempotency.module.js';
export type { Outcome } from './idempotency-exchange.js';
export { IdempotencyLedger, type Standing } from './idempotency-ledger.js';
