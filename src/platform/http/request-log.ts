import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Actor } from '../access/index.js';
import { REQUEST_QUERY_MS, withQueryDeadline } from '../database/index.js';
import { Log, withLogContext } from '../log/index.js';
import { withRequestOrigin } from './request-origin.js';

const ACCEPTED_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: the caller's X-Request-Id where it is one we can log, else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && ACCEPTED_ID.test(given) ? given : randomUUID();
}

/** Gives every request its id, in the log, the audit and the answer, and its queries a deadline; logs one line when it is answered. */
export function registerRequestLog(fastify: FastifyInstance, log: Log): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    const { ip, headers } = request;
    const origin = { request_id: request.id, address: ip, user_agent: headers['user-agent'] ?? null };
    withRequestOrigin(origin, () =>
      withLogContext({ request_id: request.id }, () => withQueryDeadline(REQUEST_QUERY_MS, done)),
    );
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    log.info(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        actor: (request as FastifyRequest & { user?: Actor }).user?.id,
      },
      'request',
    );
    done();
  });
}
