import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { catchError, type Observable } from 'rxjs';
import type { Actor } from '../../platform/access/index.js';
import { ActionCaller, ActionRunner, execCallerOf } from '../../platform/actions/index.js';
import { problemOf } from '../../platform/errors/index.js';

/** Writes down the calls of actions that are refused before the catalog sees them, as by a body that is no JSON. */
@Injectable()
export class RefusedCalls implements NestInterceptor {
  constructor(private readonly runner: ActionRunner) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.method !== 'POST') return next.handle();
    return next.handle().pipe(
      catchError(async error => {
        throw problemOf(error) ? await this.refuse(request, error) : error;
      }),
    );
  }

  private refuse(request: FastifyRequest, error: unknown): Promise<unknown> {
    const { params, body, user } = request as FastifyRequest & { user: Actor };
    const { name = '' } = params as { name?: string };
    const { workspace_id } = (body ?? {}) as { workspace_id?: unknown };
    const workspaceId = typeof workspace_id === 'string' ? workspace_id : undefined;
    const caller = execCallerOf(request) ?? ActionCaller.direct(user, 'rest');
    return this.runner.refuse(caller, { name, workspaceId }, error);
  }
}
