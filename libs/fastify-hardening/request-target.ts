import type { FastifyInstance } from 'fastify';
import createRouter, { type HTTPMethod } from 'find-my-way';
import { HttpRefusal } from './refusal.js';

const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;

/** The target of a request (RFC 9112 section 3.2) as the router takes it. */
export interface RequestTarget {
  /** In one spelling, whatever was escaped: what routes are compared with. `/` at least. */
  readonly path: string;
  /** As it was sent, without what an absolute target says before it. */
  readonly rawPath: string;
  /** What follows `?`; empty where nothing does. */
  readonly query: string;
  /** Path and query as they were sent. */
  readonly address: string;
}

/** Takes a target apart. Absolute ones and escaped letters lead to the same route, so nothing may be decided by `request.url`. */
export function targetOf(url: string): RequestTarget {
  const [target = ''] = url.replace(ORIGIN, '').split('#', 1);
  const at = target.indexOf('?');
  const rawPath = (at < 0 ? target : target.slice(0, at)) || '/';
  const query = at < 0 ? '' : target.slice(at + 1);
  return { path: decoded(rawPath), rawPath, query, address: query === '' ? rawPath : `${rawPath}?${query}` };
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path; // the router refuses it
  }
}

const METHODS: HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Answers 405 with `Allow` for a method that a path does not take (RFC 9110 section 15.5.6), and 204 with it for OPTIONS. To
 * be registered before the routes; it has a router of its own, as the framework's finds only path and method together.
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
    else
      done(
        new HttpRefusal(405, `This address does not take ${request.method}; it takes ${allow}`, { allow }),
      );
  });
}
