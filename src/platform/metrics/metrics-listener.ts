import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/index.js';
import { NotFound, type Problem } from '../errors/index.js';
import { Log } from '../log/index.js';
import { Metrics } from './metrics.js';
import { refusalOf } from './metrics-access.js';

/** Serves the metrics of a process that serves no other HTTP, a worker, at METRICS_PORT. */
@Injectable()
export class MetricsListener implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | undefined;

  constructor(
    private readonly config: Config,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** A port that is taken, as by another worker of this machine, is logged, and keeps nobody from working. */
  async onApplicationBootstrap(): Promise<void> {
    const { servesHttp, metricsPort: port, metricsToken, host: publicHost } = this.config;
    if (servesHttp || port === undefined) return;
    // Without a token nobody else may read them anyway.
    const host = metricsToken === undefined ? '127.0.0.1' : publicHost;
    const server = createServer((request, response) => void this.answer(request, response));
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      this.log.error({ err: error, port }, 'metrics cannot be served: METRICS_PORT cannot be listened on');
      return;
    }
    this.server = server;
    this.log.info({ port: this.port, host }, 'serving metrics');
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  /** Where it listens; undefined where it does not. */
  get port(): number | undefined {
    const address = this.server?.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const isScrape = request.method === 'GET' && /^\/metrics(\?|$)/.test(request.url ?? '');
      const refusal = isScrape
        ? refusalOf(request, this.config.metricsToken)
        : new NotFound('Only GET /metrics is here');
      if (refusal) return refuse(response, refusal);
      const { type, text } = await this.metrics.scrape();
      response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
    } catch (error) {
      this.log.error({ err: error }, 'metrics request failed');
      response.destroy();
    }
  }
}

function refuse(response: ServerResponse, { status, detail, headers }: Problem): void {
  response
    .writeHead(status, { ...headers, 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify({ detail }));
}
