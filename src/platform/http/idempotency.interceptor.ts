import { CallHandler, ExecutionContext, Inject, Injectable, NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { finalize, Observable, of } from 'rxjs';
import type { Actor } from '../access/actor.js';
import { Idempotency, idempotencyKeyOf } from './idempotency.js';

/** Stands before every POST that takes JSON: runs a request with an `Idempotency-Key` unless it was answered before. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(@Inject(Idempotency) private readonly idempotency: Idempotency) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest & { user?: Actor }>();
    const key = idempotencyKeyOf(request);
    if (key === undefined || !request.user) return next.handle();
    return this.once(request, http.getResponse<FastifyReply>(), request.user, key, next);
  }

  private async once(
    request: FastifyRequest,
    reply: FastifyReply,
    actor: Actor,
    key: string,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    if (!(await this.idempotency.admit(request, reply, actor, key))) return of(undefined);
    return next.handle().pipe(finalize(() => this.idempotency.abandonIfOver(request, reply)));
  }
}
