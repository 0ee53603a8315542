import type { FastifyInstance } from 'fastify';
import createRouter, { type HTTPMethod } from 'find-my-way';
import { Problem } from '../errors/index.js';
import { targetOf } from './request-target.js';

const METHODS: HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Says which methods a path takes: 405 with `Allow` for another method (RFC 9110 section 15.5.6), and 204 with it for OPTIONS,
 * where no route answers that itself. Stands before the routes are registered; the framework only knows paths and methods
 * together.
 */
export function answerOtherMethods(fastify: FastifyInstance): void {
  const router = createRouter({ maxParamLength: 1000 });
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat() as HTTPMethod[])
      if (METHODS.includes(one) && !router.hasRoute(one, url)) router.on(one, url, () => undefined);
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const { rawPath } = targetOf(request.url);
    const allowed = METHODS.filter(method => router.find(method, rawPath) !== null);
    if (allowed.length === 0) return done();
    const allow = [...allowed, 'OPTIONS'].join(', ');
    if (request.method === 'OPTIONS') void reply.status(204).header('allow', allow).send();
    else done(new Problem(405, `This address does not take ${request.method}; it takes ${allow}`, { allow }));
  });
}
