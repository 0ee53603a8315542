import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { resumeAfter } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../access/index.js';
import { Serves } from '../openapi/index.js';
import { EventStreams } from './event-streams.js';
import { type Watched, Watches } from './watches.js';

@Injectable()
class StreamInterceptor implements NestInterceptor {
  constructor(
    private readonly streams: EventStreams,
    private readonly watches: Watches,
  ) {}

  async intercept(context: ExecutionContext, route: CallHandler<Watched>): Promise<Observable<undefined>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest & { user: Actor }>();
    const reply = http.getResponse<FastifyReply>();
    const watch = await this.watches.open(request.user, () => lastValueFrom(route.handle()));
    this.streams.serve({ request, reply }, signal => watch.follow(resumeAfter(request), signal));
    return of(undefined);
  }
}

/**
 * Serves what `service.method` lets its caller watch as server-sent events: from after `?after=` or `Last-Event-ID`, for as
 * long as the same call is not refused. Stands above `@Get`, as `@Serves` does; the route returns what the method returns.
 */
export function Streams<M extends string>(
  service: { prototype: Record<M, (...args: never[]) => Promise<Watched>> },
  method: M,
): MethodDecorator {
  return (target, key, descriptor) => {
    applyDecorators(
      Serves(service, method, { produces: ['text/event-stream'] }),
      UseInterceptors(StreamInterceptor),
    )(target, key, descriptor);
    // The interceptor answers, and not the framework.
    Res()(target, key, (descriptor.value as unknown as { length: number }).length);
  };
}
