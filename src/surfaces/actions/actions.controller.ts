import {
  CallHandler,
  Controller,
  ExecutionContext,
  Get,
  Injectable,
  NestInterceptor,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { catchError, type Observable } from 'rxjs';
import { type Actor, Caller, ExecTokenOnly } from '../../platform/access/index.js';
import { ActionCaller, ActionRunner, ExecCaller, execCallerOf } from '../../platform/actions/index.js';
import { Input } from '../../platform/dto/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ActionName, ExecuteAction, FindActions, RunAction } from './actions.dto.js';
import { ActionsService } from './actions.service.js';

/** Writes down the calls of actions that are refused before the catalog sees them, as by a body that is no JSON. */
@Injectable()
class RefusedCalls implements NestInterceptor {
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

@UseInterceptors(RefusedCalls)
@Controller()
export class ActionsController {
  constructor(private readonly actions: ActionsService) {}

  @Serves(ActionsService, 'run')
  @Post('/api/actions/:name/run')
  run(@Caller() actor: Actor, @Input() input: RunAction) {
    return this.actions.run(actor, input);
  }
}

@ExecTokenOnly()
@UseInterceptors(RefusedCalls)
@Controller()
export class ActionsExecController {
  constructor(private readonly actions: ActionsService) {}

  @Serves(ActionsService, 'listFor')
  @Get('/api/actions-exec')
  list(@ExecCaller() caller: ActionCaller, @Input() input: FindActions) {
    return this.actions.listFor(caller, input);
  }

  @Serves(ActionsService, 'readFor')
  @Get('/api/actions-exec/:name')
  read(@ExecCaller() caller: ActionCaller, @Input() input: ActionName) {
    return this.actions.readFor(caller, input);
  }

  @Serves(ActionsService, 'runFor')
  @Post('/api/actions-exec/:name')
  run(@ExecCaller() caller: ActionCaller, @Input() input: ExecuteAction) {
    return this.actions.runFor(caller, input);
  }
}
