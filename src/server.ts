import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule, type ServiceParts } from './app.module.js';
import { registerBodyParsers } from './platform/http/body-parsers.js';
import { closeConnectionsAtEnd } from './platform/http/connections.js';
import { Idempotency } from './platform/http/idempotency.js';
import { describeApi } from './platform/http/openapi.js';
import { ProblemFilter } from './platform/http/problem.filter.js';
import { RateLimits } from './platform/http/rate-limit.js';
import { registerRequestLog, requestId } from './platform/http/request-log.js';
import { NestLog } from './platform/log/log.js';
import { ShareOrigin } from './workspaces/index.js';

/** The service as an HTTP application, initialised and not yet listening. */
export async function createServer(parts: ServiceParts): Promise<NestFastifyApplication> {
  const filter = new ProblemFilter(parts.log);
  const adapter = new FastifyAdapter({
    // Each body parser has a limit of its own.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    genReqId: requestId,
    // Who is not named there could say any address in X-Forwarded-For.
    trustProxy: parts.config.publicUrl === undefined ? false : parts.config.trustedProxies,
    routerOptions: { maxParamLength: 1000 },
    forceCloseConnections: 'idle',
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      filter.answer(error, request, reply),
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(parts), adapter, {
    bodyParser: false,
    logger: new NestLog(parts.log),
    registerRequestContext: false,
    // What keeps it from starting is told by main, in words.
    abortOnError: false,
  } as never);
  app.useGlobalFilters(filter);
  registerBodyParsers(adapter.getInstance(), parts.config.maxBodyBytes);
  registerRequestLog(adapter.getInstance(), parts.log);
  closeConnectionsAtEnd(adapter.getInstance());
  app.get(ShareOrigin, { strict: false }).register(adapter.getInstance());
  app.get(RateLimits).register(adapter.getInstance());
  app.get(Idempotency).register(adapter.getInstance());
  SwaggerModule.setup('docs', app, describeApi(app), {
    jsonDocumentUrl: 'api/openapi.json',
    customSiteTitle: 'Atelier API',
  });
  await app.init();
  await adapter.getInstance().ready();
  return app;
}

/** The service without HTTP, for a process that only works on jobs. */
export function createWorker(parts: ServiceParts) {
  return NestFactory.createApplicationContext(AppModule.with(parts), {
    logger: new NestLog(parts.log),
    abortOnError: false,
  });
}
