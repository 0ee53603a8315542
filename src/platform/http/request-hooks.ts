import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DATA_POLICY } from '#libs/fastify-hardening/index.js';
import { withQueryDeadline } from '#libs/resilient-postgres/index.js';
import type { Actor } from '../access/index.js';
import { REQUEST_QUERY_MS } from '../database/index.js';
import { Log, withLogContext } from '../log/index.js';

/** Where the request at work came from. */
export interface RequestOrigin {
  readonly request_id: string;
  readonly address: string;
  readonly user_agent: string | null;
}

const origins = new AsyncLocalStorage<RequestOrigin>();

/** Runs `work` so that whatever follows from it, also later and asynchronously, knows where it came from. */
export function withRequestOrigin<T>(origin: RequestOrigin, work: () => T): T {
  return origins.run(origin, work);
}

/** Where the request at work came from; undefined outside a request, as in a background job. */
export function requestOrigin(): RequestOrigin | undefined {
  return origins.getStore();
}

const ACCEPTED_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: the caller's X-Request-Id where it is one we can log, else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && ACCEPTED_ID.test(given) ? given : randomUUID();
}

/** The address that is routed: some clients put a slash at the end of the one that they were given. */
export function requestUrl({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  return url.replace(/^\/mcp\/(?=\?|$)/, '/mcp');
}

/** What a caller without a credential may send: public routes take a few fields. */
const MAX_PUBLIC_BYTES = 64 * 1024;

/** Largest JSON body; uploads of raw bytes are limited by what a file may have. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** How many bytes the body of a request may have. */
export const bodyLimit = ({ user }: FastifyRequest & { user?: Actor }): number =>
  user === undefined || user === null ? MAX_PUBLIC_BYTES : MAX_BODY_BYTES;

/**
 * Gives every request its id, in the log, the audit and the answer, and its queries a deadline; logs one line when it is
 * answered. What every answer says to browsers, before any route says something more exact: take it for no other type, run
 * nothing of it, frame it nowhere, and come back by HTTPS where that is how we are reached.
 */
export function registerRequestHooks(
  fastify: FastifyInstance,
  log: Log,
  publicUrl: string | undefined,
): void {
  const isSecure = publicUrl !== undefined && URL.parse(publicUrl)?.protocol === 'https:';
  const common = {
    ...(isSecure ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}` } : {}),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const { id: request_id, ip, headers } = request;
    void reply.headers(common).header('x-request-id', request_id);
    const route = request.routeOptions.url ?? '';
    void reply.header('content-security-policy', policyOf(route));
    // HTTP keeps answers to `Authorization` out of shared caches, and those to `X-API-Key` and cookies not.
    if (OURS.test(request.url)) void reply.header('cache-control', 'no-store');
    const origin = { request_id, address: ip, user_agent: headers['user-agent'] ?? null };
    withRequestOrigin(origin, () =>
      withLogContext({ request_id }, () => withQueryDeadline(REQUEST_QUERY_MS, done)),
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

/** Swagger UI: its own scripts, styles in attributes, pictures in its styles, and requests to this service. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/** What the authorization server answers by itself may be a page that posts a form to a client. */
const OAUTH_POLICY = "object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const YEAR_SECONDS = 31_536_000;
/** Paths whose answers are for one caller, unless they say otherwise. */
const OURS = /^\/(?:api|mcp|oauth)(?:[/?]|$)/;

function policyOf(route: string): string {
  if (/^\/docs(\/|$)/.test(route)) return DOCS_POLICY;
  return route.startsWith('/oauth/') ? OAUTH_POLICY : DATA_POLICY;
}
