import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { finalize, Observable, of } from 'rxjs';
import type { Actor } from '../access/index.js';
import { readBody } from '../bodies/index.js';
import { inKeyedRequest } from '../database/index.js';
import { Idempotency, idempotencyKeyOf } from './idempotency.js';
import type { Outcome } from './idempotency-exchange.js';

/** Metadata of a route: its {@link Outcome}. */
export const OUTCOME = Symbol('outcome');

/** Stands before every POST that takes JSON: runs a request with an `Idempotency-Key` unless it was answered before. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: Idempotency) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest & { user?: Actor }>();
    const key = idempotencyKeyOf(request);
    if (key === undefined || !request.user) return next.handle();
    const outcome: Outcome = Reflect.getMetadata(OUTCOME, context.getHandler());
    return this.once(request, http.getResponse<FastifyReply>(), { actor: request.user, key, outcome }, next);
  }

  private async once(
    request: FastifyRequest,
    reply: FastifyReply,
    keyed: { actor: Actor; key: string; outcome: Outcome },
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    await readBody(request);
    const exchange = await this.idempotency.admit(request, reply, keyed);
    if (!exchange) return of(undefined);
    return inKeyedRequest(exchange, () => next.handle()).pipe(
      finalize(() => this.idempotency.abandonIfOver(request, reply)),
    );
  }
}
