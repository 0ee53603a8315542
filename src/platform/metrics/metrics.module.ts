import { Global, Inject, Module } from '@nestjs/common';
import { Config, VERSION } from '../config/index.js';
import { lostLines } from '../log/index.js';
import { MetricsController, MetricsListener } from './metrics.controller.js';
import { Metrics } from './metrics.js';
import { PoolMetrics } from './pool-metrics.js';

/** Counts what the service does, for operators. */
@Global()
@Module({
  controllers: [MetricsController],
  providers: [Metrics, MetricsListener, PoolMetrics],
  exports: [Metrics, PoolMetrics],
})
export class MetricsModule {
  constructor(
    metrics: Metrics,
    @Inject(Config) { role }: Config,
    readonly pools: PoolMetrics,
  ) {
    metrics.gauge(
      { name: 'atelier_info', help: 'Which version runs, in which role.', labels: ['version', 'role'] },
      () => [{ labels: { version: VERSION, role }, value: 1 }],
    );
    metrics.gauge(
      {
        name: 'atelier_log_lines_lost_total',
        help: 'Lines of the log that could not be written, as on a full volume.',
      },
      () => [{ labels: {}, value: lostLines() }],
    );
  }
}
