export { registerHttpMetrics } from './http-metrics.js';
export type { Counter } from './instruments.js';
export { Metrics } from './metrics.js';
export { MetricsModule } from './metrics.module.js';
export { MetricsListener } from './metrics-listener.js';
export { PoolMetrics } from './pool-metrics.js';
