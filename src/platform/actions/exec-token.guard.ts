import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../access/index.js';
import { BadRequest, Unauthorized } from '../errors/index.js';
import type { ActionCaller } from './action-caller.js';
import { EXEC_TOKEN_PREFIX, ExecTokens } from './exec-tokens.js';

type ExecRequest = FastifyRequest & { user: Actor; execCaller: ActionCaller };

/** Lets in who holds an exec token, in `Authorization: Bearer atx_…`. */
@Injectable()
export class ExecTokenGuard implements CanActivate {
  constructor(private readonly tokens: ExecTokens) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<ExecRequest>();
    const { headers } = request;
    if (headers['x-api-key'] !== undefined && headers.authorization !== undefined)
      throw new BadRequest('Send X-API-Key or Authorization, not both');
    const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (!token?.startsWith(EXEC_TOKEN_PREFIX))
      throw new Unauthorized(
        `This takes an exec token (Bearer ${EXEC_TOKEN_PREFIX}…), which only sandboxes of runs have; use /api/actions with a key or session`,
      );
    const caller = await this.tokens.callerOf(token);
    if (!caller)
      throw new Unauthorized(
        'This exec token is not valid: unknown, expired, or what it was given to has ended',
      );
    request.user = caller.actor;
    request.execCaller = caller;
    return true;
  }
}

/** Who calls with an exec token; undefined on routes that take none. */
export const execCallerOf = (request: FastifyRequest): ActionCaller | undefined =>
  (request as Partial<ExecRequest> & FastifyRequest).execCaller;

/** Who calls, on a route that takes exec tokens. */
export const ExecCaller = createParamDecorator((_: unknown, context: ExecutionContext): ActionCaller => {
  return context.switchToHttp().getRequest<ExecRequest>().execCaller;
});
