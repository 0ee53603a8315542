import type { FastifyInstance } from 'fastify';
import type { Metrics } from './metrics.js';

/** Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts what is answered, by the pattern of its route: an address would make a series for each id. */
export function registerHttpMetrics(fastify: FastifyInstance, metrics: Metrics): void {
  const requests = metrics.counter({
    name: 'atelier_http_requests_total',
    help: 'Requests that were answered, by pattern of the route.',
    labels: ['method', 'route', 'status'],
  });
  const durations = metrics.histogram(
    {
      name: 'atelier_http_request_duration_seconds',
      help: 'Time until an answer was sent whole; an event stream takes until it ends.',
      labels: ['method', 'route'],
    },
    BUCKETS,
  );
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const method = METHODS.has(request.method) ? request.method : 'other';
    requests.add({ method, route, status: String(reply.raw.statusCode) });
    durations.observe({ method, route }, reply.elapsedTime / 1000);
    done();
  });
}
