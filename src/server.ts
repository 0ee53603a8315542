import {
  answerOtherMethods,
  guardConnections,
  refuseOnSocket,
  registerBodyParsers,
} from '#libs/fastify-hardening/index.js';
import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule, type ServiceParts } from './app.module.js';
import { Gateway, GatewayFront, HostedUpgrades } from './hosting/gateway/index.js';
import {
  bodyLimit,
  ProblemFilter,
  registerRequestHooks,
  requestId,
  requestUrl,
} from './platform/http/index.js';
import { Idempotency } from './platform/idempotency/index.js';
import { Ingress } from './platform/ingress/index.js';
import { RateLimits } from './platform/limits/index.js';
import { NestLog } from './platform/log/index.js';
import { Metrics, registerHttpMetrics } from './platform/metrics/index.js';
import { describeApi, serveDocs } from './platform/openapi/index.js';

/** The service as an HTTP application, initialised and not yet listening. */
export async function createServer(parts: ServiceParts): Promise<NestFastifyApplication> {
  const filter = new ProblemFilter(parts.log);
  const front = new GatewayFront();
  const adapter = new FastifyAdapter({
    // Each body parser has a limit of its own.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    genReqId: requestId,
    // Who is not named there could say any address in X-Forwarded-For.
    trustProxy: parts.config.publicUrl === undefined ? false : parts.config.trustedProxies,
    routerOptions: { maxParamLength: 1000 },
    rewriteUrl: requestUrl,
    // Requests without a Host header are refused by ourselves, with a body.
    serverFactory: (handler: RequestListener) => front.serverFor(handler, { requireHostHeader: false }),
    clientErrorHandler: refuseOnSocket,
    forceCloseConnections: 'idle',
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      filter.answer(error, request, reply),
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(parts), adapter, {
    bodyParser: false,
    logger: new NestLog(parts.log),
    registerRequestContext: false,
    // main prints why the service cannot start.
    abortOnError: false,
  } as never);
  front.open(app.get(Gateway), app.get(HostedUpgrades));
  app.useGlobalFilters(filter);
  const http = adapter.getInstance();
  registerBodyParsers(http, bodyLimit);
  registerRequestHooks(http, parts.log, parts.config.publicUrl);
  registerHttpMetrics(http, app.get(Metrics));
  guardConnections(http, parts.config.slowReaderSeconds * 1000);
  app.get(RateLimits).register(http);
  app.get(Ingress).register(http);
  answerOtherMethods(http);
  app.get(Idempotency).register(http);
  serveDocs(app, () => describeApi(app));
  await app.init();
  await http.ready();
  return app;
}

/** The service without HTTP, for a process that only works on jobs. */
export function createWorker(parts: ServiceParts) {
  return NestFactory.createApplicationContext(AppModule.with(parts), {
    logger: new NestLog(parts.log),
    abortOnError: false,
  });
}
