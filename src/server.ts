import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule, type ServiceParts } from './app.module.js';
import { registerBodyParsers } from './platform/bodies/body-parsers.js';
import { answerOtherMethods } from './platform/http/allowed-methods.js';
import { closeConnectionsAtEnd, closeUnreadConnections } from './platform/http/connections.js';
import { ProblemFilter } from './platform/http/problem.filter.js';
import { refuseIncompleteRequests, refuseOnSocket } from './platform/http/refused-requests.js';
import { registerRequestLog, requestId } from './platform/http/request-log.js';
import { registerSecurityHeaders } from './platform/http/security-headers.js';
import { refuseSlowBodies } from './platform/http/slow-bodies.js';
import { Idempotency } from './platform/idempotency/idempotency.js';
import { RateLimits } from './platform/limits/rate-limit.js';
import { NestLog } from './platform/log/log.js';
import { registerHttpMetrics } from './platform/metrics/http-metrics.js';
import { Metrics } from './platform/metrics/metrics.js';
import { serveDocs } from './platform/openapi/docs-page.js';
import { describeApi } from './platform/openapi/openapi.js';
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
    // Some clients put a slash at the end of the address that they were given.
    rewriteUrl: ({ url = '/' }) => url.replace(/^\/mcp\/(?=\?|$)/, '/mcp'),
    // Refused by ourselves, with a body.
    http: { requireHostHeader: false },
    clientErrorHandler: refuseOnSocket,
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
  registerHttpMetrics(adapter.getInstance(), app.get(Metrics));
  registerSecurityHeaders(adapter.getInstance(), parts.config.publicUrl);
  refuseIncompleteRequests(adapter.getInstance());
  closeConnectionsAtEnd(adapter.getInstance());
  closeUnreadConnections(adapter.getInstance(), parts.config.slowReaderSeconds * 1000);
  refuseSlowBodies(adapter.getInstance(), parts.config.slowReaderSeconds * 1000);
  app.get(RateLimits).register(adapter.getInstance());
  app.get(ShareOrigin, { strict: false }).register(adapter.getInstance());
  answerOtherMethods(adapter.getInstance());
  app.get(Idempotency).register(adapter.getInstance());
  serveDocs(app, describeApi(app));
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
