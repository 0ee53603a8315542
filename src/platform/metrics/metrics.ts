import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { within, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Log } from '../log/index.js';

/** What a metric is called and means. Its labels have few values, known beforehand: never an id, a name or an address. */
export interface Definition<Label extends string = never> {
  /** As Prometheus names metrics: with its unit, in base units, `_total` at the end of what only grows. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

export type Labels<Label extends string> = Readonly<Record<Label, string>>;

/** What a gauge shows for some values of its labels. */
export interface Reading<Label extends string> {
  readonly labels: Labels<Label>;
  readonly value: number;
}

export interface Counter<Label extends string> {
  add(labels: Labels<Label>, by?: number): void;
}

export interface Histogram<Label extends string> {
  observe(labels: Labels<Label>, value: number): void;
}

/** How long one look may take. */
const LOOK_MS = 2_000;
/** How long what was seen is shown again. */
const KEEP_MS = 5_000;

/** Readings that cost statements: looked at by one scrape at a time, and not again for some seconds, also where that failed. */
export class KeptReadings<Label extends string> {
  private kept: readonly Reading<Label>[] = [];
  private until = Number.NEGATIVE_INFINITY;
  private looking: Promise<readonly Reading<Label>[]> | undefined;

  constructor(
    private readonly look: () => Promise<readonly Reading<Label>[]>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  async read(): Promise<readonly Reading<Label>[]> {
    if (performance.now() < this.until) return this.kept;
    this.looking ??= withQueryDeadline(LOOK_MS, this.look).finally(() => {
      this.looking = undefined;
    });
    try {
      this.kept = await within(LOOK_MS, this.looking);
    } catch (error) {
      this.kept = [];
      this.onFailure(error);
    }
    this.until = performance.now() + KEEP_MS;
    return this.kept;
  }
}

type Library = typeof import('prom-client');
type Read<Label extends string> = () => readonly Reading<Label>[];
type SlowRead<Label extends string> = () => Promise<readonly Reading<Label>[]>;

let ofProcess: Registry | undefined;

/** Of memory, event loop and garbage collection: measured once, however many services run in the process; never ends. */
function metricsOfProcess(library: Library): Registry {
  if (!ofProcess) {
    ofProcess = new library.Registry();
    library.collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/**
 * What this process counts, in the text format of Prometheus. Features declare what they count where they do it. The
 * library is loaded once the service runs; what happens before is counted then.
 */
@Injectable()
export class Metrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private library: Library | undefined;
  private registry: Registry | undefined;
  private loading: Promise<Registry> | undefined;
  /** What waits for the library. */
  private waiting: (() => void)[] = [];
  private readonly failures = this.counter({
    name: 'atelier_metrics_failures_total',
    help: 'Metrics that could not be read in time, by name; what they show is missing meanwhile.',
    labels: ['metric'],
  });

  constructor(private readonly log: Log) {}

  onApplicationBootstrap(): void {
    this.load().catch((error: unknown) => this.log.error({ err: error }, 'metrics cannot be counted'));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.allSettled([this.loading]);
  }

  counter<Label extends string>(definition: Definition<Label>): Counter<Label> {
    const use = this.made((library, options) => new library.Counter(options), definition);
    return { add: (labels, by = 1) => use(counter => counter.inc(labels, by)) };
  }

  /** `buckets` are upper bounds, in the unit of the metric. */
  histogram<Label extends string>(
    definition: Definition<Label>,
    buckets: readonly number[],
  ): Histogram<Label> {
    const use = this.made(
      (library, options) => new library.Histogram({ ...options, buckets: [...buckets] }),
      definition,
    );
    return { observe: (labels, value) => use(histogram => histogram.observe(labels, value)) };
  }

  /** Reads at every scrape; `read` costs next to nothing. */
  gauge<Label extends string>(definition: Definition<Label>, read: Read<Label>): void {
    this.collected(definition, async () => read());
  }

  /** Reads at a scrape, within a deadline and not more often than every few seconds; `read` asks a database. */
  slowGauge<Label extends string>(definition: Definition<Label>, read: SlowRead<Label>): void {
    const { name } = definition;
    const kept = new KeptReadings(read, error => {
      this.failures.add({ metric: name });
      this.log.warn({ err: error, metric: name }, 'a metric could not be read');
    });
    this.collected(definition, () => kept.read());
  }

  /** All metrics, and the media type of the text. */
  async scrape(): Promise<{ type: string; text: string }> {
    const registry = await this.load();
    const text = await registry.metrics();
    // As the format spells it; the library has it otherwise where the event loop was not measured since the last scrape.
    return { type: registry.contentType, text: text.replaceAll(' Nan\n', ' NaN\n') };
  }

  private collected<Label extends string>(definition: Definition<Label>, read: SlowRead<Label>): void {
    this.made(
      (library, options) =>
        new library.Gauge({
          ...options,
          async collect() {
            const readings = await read();
            this.reset();
            for (const { labels, value } of readings) this.set(labels, value);
          },
        }),
      definition,
    );
  }

  /** Makes a metric as soon as there is the library; gives back what uses it, then or later. */
  private made<Metric, Label extends string>(
    make: (
      library: Library,
      options: { name: string; help: string; labelNames: Label[]; registers: Registry[] },
    ) => Metric,
    { name, help, labels = [] }: Definition<Label>,
  ): (use: (metric: Metric) => void) => void {
    let metric: Metric;
    this.soon((library, registry) => {
      metric = make(library, { name, help, labelNames: [...labels], registers: [registry] });
    });
    return use => this.soon(() => use(metric));
  }

  private soon(work: (library: Library, registry: Registry) => void): void {
    const { library, registry } = this;
    if (library && registry) work(library, registry);
    else this.waiting.push(() => work(this.library as Library, this.registry as Registry));
  }

  private load(): Promise<Registry> {
    this.loading ??= import('prom-client').then(library => {
      const registry = library.Registry.merge([metricsOfProcess(library)]);
      this.library = library;
      this.registry = registry;
      for (const work of this.waiting.splice(0)) work();
      return registry;
    });
    return this.loading;
  }
}

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
