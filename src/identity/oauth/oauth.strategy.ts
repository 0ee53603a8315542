import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport';
import type { Actor } from '../../platform/access/index.js';
import { OAuthResources } from './scopes/resources.js';
import { OAuthTokens } from './tokens/oauth-tokens.js';

/** A passport strategy that looks at the whole request, as a proof of possession covers it. */
class RequestStrategy extends Strategy {
  override readonly name = 'oauth';

  constructor(
    private readonly verify: (request: FastifyRequest, done: (error: unknown, actor?: Actor) => void) => void,
  ) {
    super();
  }

  override authenticate(request: unknown): void {
    this.verify(request as FastifyRequest, (error, actor) => {
      if (error) this.error(error);
      else if (actor) this.success(actor);
      else this.fail(401);
    });
  }
}

/** Access tokens of the authorization server at `/api`: only those that are for it. */
@Injectable()
export class OAuthStrategy extends PassportStrategy(RequestStrategy, 'oauth') {
  constructor(
    private readonly tokens: OAuthTokens,
    private readonly resources: OAuthResources,
  ) {
    super();
  }

  async validate(request: FastifyRequest): Promise<Actor | false> {
    return (await this.tokens.ofRequest(request, this.resources.api)) ?? false;
  }
}
