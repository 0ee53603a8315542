import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit, LimitReached } from '#libs/concurrency-limit/index.js';
import { HttpRefusal, wholeBody } from '#libs/fastify-hardening/index.js';
import { Config } from '../../../platform/config/index.js';
import { Problem, Unavailable } from '../../../platform/errors/index.js';

/** Above this a body is read in another thread, and only where there is room. */
export const LARGE_BYTES = 1024 * 1024;
/** Large bodies that one process has in its memory at once. */
const MAX_LARGE = 3;
/** How long a sender waits for room: most give up after ten seconds. */
const MAX_WAIT_MS = 8_000;
const RETRY_SECONDS = 10;

/** The bodies of webhooks, whole; of large ones, no more at once than memory is meant for. */
@Injectable()
export class WebhookBodies {
  private readonly room = new ConcurrencyLimit(MAX_LARGE, 'large webhooks are read', MAX_WAIT_MS);
  /** Until it is stored, a body is copied a few times: only one of them is at work. */
  private readonly work = new ConcurrencyLimit(1);

  constructor(private readonly config: Config) {}

  /** Calls `take` with the body, which is forgotten when that ends. Throws 413 where it is too long, 411 where it may be. */
  async with<T>(request: IncomingMessage, take: (body: Buffer) => Promise<T>): Promise<T> {
    const limit = this.config.webhookBytes;
    const length = request.headers['content-length'];
    if (length === undefined) return take(await this.ofUnknownLength(request, limit));
    const size = Number(length);
    if (size <= LARGE_BYTES || size > limit) return take(await wholeBody(request, limit));
    const leave = await this.enter(request);
    try {
      const body = await wholeBody(request, limit);
      return await this.work.run(() => take(body));
    } finally {
      leave();
    }
  }

  private async ofUnknownLength(request: IncomingMessage, limit: number): Promise<Buffer> {
    try {
      return await wholeBody(request, Math.min(limit, LARGE_BYTES));
    } catch (error) {
      const isTooLong = error instanceof HttpRefusal && error.status === 413 && limit > LARGE_BYTES;
      if (!isTooLong) throw error;
      throw new Problem(411, `A body of more than ${LARGE_BYTES} bytes needs the header Content-Length`);
    }
  }

  /** Nothing of the body is read until there is room: its sender waits with it. */
  private async enter(request: IncomingMessage): Promise<() => void> {
    const gone = new AbortController();
    const leave = () => gone.abort(new HttpRefusal(400, 'The body was cut off'));
    request.once('close', leave);
    try {
      return await this.room.acquire({ signal: gone.signal });
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error;
      throw new Unavailable('Too many large webhooks come at once; send it again later', {
        'retry-after': String(RETRY_SECONDS),
      });
    } finally {
      request.off('close', leave);
    }
  }
}
