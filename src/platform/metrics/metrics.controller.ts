import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BlockList, isIP } from 'node:net';
import {
  Controller,
  Get,
  Injectable,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  Req,
  Res,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../access/index.js';
import { Config } from '../config/index.js';
import { NotFound, type Problem, Unauthorized } from '../errors/index.js';
import { Log } from '../log/index.js';
import { Metrics } from './metrics.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** What proxies add to a request that they pass on. */
const OF_PROXIES = /^(forwarded|via|x-real-ip|x-client-ip|x-forwarded-.+|cf-connecting-ip|true-client-ip)$/;

/**
 * Why a request may not read the metrics: it must show METRICS_TOKEN, or without one come directly from this machine. A proxy
 * on this machine is recognised by the headers that it adds and by the Host that was asked for.
 */
export function refusalOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  token: string | undefined,
): Problem | undefined {
  if (token !== undefined)
    return isToken(headers.authorization, token)
      ? undefined
      : new Unauthorized('Send METRICS_TOKEN as Authorization: Bearer');
  const isDirect =
    isLoopback(socket.remoteAddress ?? '') &&
    isLocalHost(headers.host ?? '') &&
    !Object.keys(headers).some(name => OF_PROXIES.test(name));
  return isDirect ? undefined : new NotFound('No such endpoint');
}

function isToken(authorization: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  const version = isIP(plain);
  return version !== 0 && LOOPBACK.check(plain, version === 4 ? 'ipv4' : 'ipv6');
}

function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}

/** Serves the metrics of this process to Prometheus. */
@ApiExcludeController()
@Controller()
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {}

  @Public()
  @Get('/metrics')
  async scrape(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const refusal = refusalOf(request.raw as IncomingMessage, this.config.metricsToken);
    if (refusal) throw refusal;
    const { type, text } = await this.metrics.scrape();
    await reply.type(type).header('cache-control', 'no-store').send(text);
  }
}

/** Serves the metrics of a process that serves no other HTTP, a worker, at METRICS_PORT. */
@Injectable()
export class MetricsListener implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | undefined;

  constructor(
    private readonly config: Config,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** A port that is taken, as by another worker of this machine, is logged; the worker works on. */
  async onApplicationBootstrap(): Promise<void> {
    const { servesHttp, metricsPort: port, metricsToken, host: publicHost } = this.config;
    if (servesHttp || port === undefined) return;
    // Without a token they answer loopback alone.
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
