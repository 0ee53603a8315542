import { ArgumentsHost, Catch, ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DATA_POLICY } from '#libs/fastify-hardening/index.js';
import { isDatabaseFull, isOutage } from '#libs/resilient-postgres/index.js';
import { InsufficientStorage, Problem, problemOf, Unavailable } from '../errors/index.js';
import { Log } from '../log/index.js';
import { problemPage, START_WAY, sendPage, takesPages } from '../pages/index.js';

/** Fastify's own errors (a body too large, a malformed address) in our words. */
const FASTIFY_DETAILS: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than this endpoint takes',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body does not have the length that Content-Length says',
  FST_ERR_BAD_URL: 'The address holds a malformed percent escape',
};

/** Every failure, known or not, as the problem that answers it. */
export function asProblem(error: unknown): Problem | undefined {
  const known = problemOf(error);
  if (known) return known;
  if (error instanceof HttpException) return new Problem(error.getStatus(), httpExceptionDetail(error));
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  if (typeof code === 'string' && code.startsWith('FST_') && statusCode && statusCode < 500)
    return new Problem(statusCode, FASTIFY_DETAILS[code] ?? (error as Error).message);
  return undefined;
}

function httpExceptionDetail(error: HttpException): string {
  if (error.getStatus() === 404) return 'No such endpoint';
  if (error.getStatus() === 401) return 'Sign in, or send an API key';
  return error.message;
}

/** Answers `{"detail"}` for every failure, or a page where a browser asks; what is not a known problem is a bug: logged, and answered with no more than that. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const problem = asProblem(error) ?? this.bug(error, request);
    if (reply.raw.headersSent || reply.raw.destroyed) {
      reply.raw.destroy();
      return;
    }
    void reply.header('x-request-id', request.id);
    void reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept'].flat().join(', '));
    if (takesPages(request)) {
      sendPage(reply, problemPage(problem.detail, START_WAY), problem.status, problem.headers);
      return;
    }
    // Also of what never came to the hooks that say so for every answer.
    void reply.header('x-content-type-options', 'nosniff').header('content-security-policy', DATA_POLICY);
    void reply.status(problem.status).headers(problem.headers).type('application/json; charset=utf-8');
    void reply.send({ detail: problem.detail });
  }

  private bug(error: unknown, request: FastifyRequest): Problem {
    // The route and not the address, which may hold a token.
    this.log.error(
      { err: error, method: request.method, route: request.routeOptions?.url },
      'request failed',
    );
    if (isDatabaseFull(error))
      return new InsufficientStorage(
        'The disk of the database is full; free some space there, and try again',
      );
    if (isOutage(error))
      return new Unavailable('The database does not answer; try again in a moment', { 'retry-after': '2' });
    return new Problem(500, 'Internal server error');
  }
}
