import type { IncomingMessage } from 'node:http';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../access/index.js';
import { Config } from '../config/index.js';
import { Metrics } from './metrics.js';
import { refusalOf } from './metrics-access.js';

/** Serves the metrics of this process to a Prometheus, and to nobody else. */
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
