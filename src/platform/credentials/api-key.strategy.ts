import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport';
import { Credentials } from '../access/index.js';

/** A passport strategy that reads one header. */
class HeaderStrategy extends Strategy {
  override readonly name = 'api-key';

  constructor(
    private readonly verify: (key: string, done: (error: unknown, user?: object | false) => void) => void,
  ) {
    super();
  }

  override authenticate(request: unknown): void {
    const key = (request as FastifyRequest).headers['x-api-key'];
    if (typeof key === 'string') this.verify(key, (error, user) => this.settle(error, user));
    else this.fail(401);
  }

  private settle(error: unknown, user?: object | false): void {
    if (error) this.error(error);
    else if (user) this.success(user);
    else this.fail(401);
  }
}

/** `X-API-Key`. */
@Injectable()
export class ApiKeyStrategy extends PassportStrategy(HeaderStrategy, 'api-key') {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(key: string): Promise<object | false> {
    return (await this.credentials.ofApiKey(key)) ?? false;
  }
}
