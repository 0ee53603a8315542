import type { FastifyInstance } from 'fastify';

/** Of what is no page: nothing in it runs, and nothing frames it. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";
/** Swagger UI: its own scripts, styles in attributes, pictures in its styles, and requests to this service. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/** What the authorization server answers by itself may be a page that posts a form to a client. */
const OAUTH_POLICY = "object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const YEAR_SECONDS = 31_536_000;

/**
 * What every answer says to browsers, before any route says something more exact: take it for no other type, run nothing
 * of it, frame it nowhere, and come back by HTTPS where that is how we are reached.
 */
export function registerSecurityHeaders(fastify: FastifyInstance, publicUrl: string | undefined): void {
  const isSecure = publicUrl !== undefined && URL.parse(publicUrl)?.protocol === 'https:';
  const transport = isSecure ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}` } : {};
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers({
      ...transport,
      'x-content-type-options': 'nosniff',
      'content-security-policy': policyOf(request.routeOptions.url ?? ''),
      'referrer-policy': 'no-referrer',
    });
    done();
  });
}

function policyOf(route: string): string {
  if (/^\/docs(\/|$)/.test(route)) return DOCS_POLICY;
  return route.startsWith('/oauth/') ? OAUTH_POLICY : DATA_POLICY;
}
