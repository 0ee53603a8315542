import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { requestId } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import { type Counter, Metrics } from '../../platform/metrics/index.js';

/** In seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

@Injectable()
export class GatewayRecord {
  private readonly requests: Counter<'status'>;
  private readonly durations: ReturnType<Metrics['histogram']>;
  private readonly isLogged: boolean;

  constructor(
    { logLevel }: Config,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.isLogged = logLevel === 'debug' || logLevel === 'trace';
    this.requests = metrics.counter({
      name: 'atelier_hosted_requests_total',
      help: 'Requests to hosts of sites and servers that were answered.',
      labels: ['status'],
    });
    this.durations = metrics.histogram(
      {
        name: 'atelier_hosted_request_duration_seconds',
        help: 'Time until an answer of such a host was sent whole.',
      },
      BUCKETS,
    );
  }

  answered(host: string, request: IncomingMessage, response: ServerResponse, start: number): void {
    const ms = performance.now() - start;
    this.requests.add({ status: String(response.statusCode) });
    this.durations.observe({}, ms / 1000);
    if (!this.isLogged) return;
    // Without the query, which may hold a ticket or the secret of a link.
    const { method, url = '/' } = request;
    const path = url.split('?', 1)[0]?.slice(0, 500);
    this.log.debug(
      {
        request_id: requestId(request),
        host,
        method,
        path,
        status: response.statusCode,
        ms: Math.round(ms * 10) / 10,
      },
      'hosted request',
    );
  }

  fault(host: string, error: unknown): void {
    this.log.error({ err: error, host }, 'a hosted request failed');
  }
}
