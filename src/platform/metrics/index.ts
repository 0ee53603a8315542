export { MetricsListener } from './metrics.controller.js';
export { type Counter, Metrics, registerHttpMetrics } from './metrics.js';
export { MetricsModule } from './metrics.module.js';
export { PoolMetrics } from './pool-metrics.js';
