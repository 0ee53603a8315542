import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { finalize, Observable, of } from 'rxjs';
import { readBody, targetOf } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../access/index.js';
import { inKeyedRequest, RequestLost } from '../database/index.js';
import { BadRequest, Conflict, Invalid, translateErrors } from '../errors/index.js';
import { Log } from '../log/index.js';
import { Vault } from '../vault/index.js';
import {
  Exchange,
  IdempotencySeal,
  LOST_DETAIL,
  LOST_HEADERS,
  MAX_ANSWER_BYTES,
  type Outcome,
  type StoredAnswer,
  unknownOutcome,
} from './idempotency-exchange.js';
import { IdempotencyLedger } from './idempotency-ledger.js';

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;

translateErrors(RequestLost, () => new Conflict(LOST_DETAIL, LOST_HEADERS));

/** What an answer says besides its body; the rest belongs to the connection or to the one request. */
const KEPT_HEADERS = [
  'content-type',
  'content-disposition',
  'content-language',
  'cache-control',
  'etag',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'www-authenticate',
];

/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice runs once. Its answer is
 * committed with its work, or kept by the hook on responses.
 */
@Injectable()
export class Idempotency {
  private readonly exchanges = new WeakMap<FastifyRequest, Exchange>();

  constructor(
    private readonly vault: Vault,
    private readonly ledger: IdempotencyLedger,
    private readonly log: Log,
  ) {}

  /** The exchange of a request that is to run; undefined where its answer is at hand, and the hook sends it. */
  async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { actor, key, outcome }: { actor: Actor; key: string; outcome: Outcome },
  ): Promise<Exchange | undefined> {
    const credentialId = actor.credential.id;
    const seal = new IdempotencySeal(this.vault.roots, credentialId, key);
    const fingerprint = seal.fingerprint(request.method, targetOf(request.url).address, request.body);
    const { commitsAnswer } = outcome;
    const standing = await this.ledger.enter({
      credentialId,
      lookup: seal.lookup,
      fingerprint,
      commitsAnswer,
    });
    if (standing.state === 'other-request')
      throw new Invalid(`This ${IDEMPOTENCY_KEY} was used for another request; send a new one`);
    if (standing.state === 'running')
      throw new Conflict('The first request with this key is still running', { 'retry-after': '1' });
    if (standing.state === 'unknown') throw new Conflict(unknownOutcome('was cut off', outcome));
    const isOurs = standing.state === 'ours';
    const exchange = new Exchange(
      seal,
      outcome,
      isOurs ? standing.holder : undefined,
      isOurs ? undefined : seal.open(standing.answer),
      body => ({ status: reply.statusCode, headers: { ...JSON_TYPE, ...keptHeaders(reply) }, body }),
    );
    this.exchanges.set(request, exchange);
    reply.raw.once('close', () => this.abandonIfOver(request, reply));
    return isOurs ? exchange : undefined;
  }

  /** Settles a request whose answer went past the hooks, or is a stream: it cannot be given again. */
  abandonIfOver(request: FastifyRequest, reply: FastifyReply): void {
    const exchange = this.exchanges.get(request);
    if (!exchange || exchange.settled || !reply.raw.closed) return;
    if (!exchange.streamed && !reply.sent) return;
    void this.settle(exchange, exchange.committedAnswer ?? exchange.withoutAnswer('a stream'));
  }

  /** Keeps the answers that leave, and gives those that are kept. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onSend', (request, reply, payload, done) => {
      const exchange = this.exchanges.get(request);
      if (!exchange) done(null, payload);
      else if (exchange.replay) {
        void reply.header('idempotent-replayed', 'true');
        done(null, given(reply, exchange.replay));
      } else
        void this.keep(exchange, reply, payload).then(other =>
          done(null, other ? given(reply, other) : payload),
        );
    });
  }

  /** Returns the true answer where it is another than the one that is about to leave. */
  private async keep(
    exchange: Exchange,
    reply: FastifyReply,
    payload: unknown,
  ): Promise<StoredAnswer | undefined> {
    if (exchange.settled) return undefined;
    const { statusCode: status } = reply;
    const { committedAnswer, outcome } = exchange;
    if (committedAnswer) {
      await this.settle(exchange, committedAnswer);
      return status < 300 ? undefined : committedAnswer;
    }
    const body = bytesOf(payload);
    exchange.streamed = body === undefined;
    if (!body) return undefined;
    if (status === 429) return this.settle(exchange, undefined);
    if (status >= 500)
      return this.settle(exchange, outcome.commitsAnswer ? undefined : exchange.failedMidway());
    const isKept = body.length <= MAX_ANSWER_BYTES;
    const answer = isKept
      ? { status, headers: keptHeaders(reply), body }
      : exchange.withoutAnswer('too large to keep');
    return this.settle(exchange, answer);
  }

  /**
   * Keeps the answer, or without one forgets the request; returns the answer that was committed although the work seems to
   * have failed: the connection was lost when the commit was on its way. A failure here costs the caller no answer.
   */
  private async settle(
    exchange: Exchange,
    answer: StoredAnswer | undefined,
  ): Promise<StoredAnswer | undefined> {
    exchange.settled = true;
    const { holder, seal } = exchange;
    if (!holder) return undefined;
    try {
      if (exchange.committedAnswer) return undefined;
      const committed = answer
        ? await this.ledger.answer(holder, seal.close(answer))
        : await this.ledger.release(holder);
      if (committed === 'lost') return exchange.lost(answer);
      return committed && seal.open(committed);
    } catch (error) {
      this.log.error({ err: error }, 'the answer to a request with an Idempotency-Key could not be kept');
    }
    return undefined;
  }
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** The key that a request brings, if it brings one that counts: from a caller with a credential, with a body that is no stream. */
export function idempotencyKeyOf({ headers, body }: FastifyRequest): string | undefined {
  const key = headers[IDEMPOTENCY_KEY.toLowerCase()];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key))
    throw new BadRequest(`${IDEMPOTENCY_KEY} must have 1 to 255 printable ASCII characters`);
  const isStream =
    typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function';
  return isStream ? undefined : key;
}

function given(reply: FastifyReply, { status, headers, body }: StoredAnswer): Buffer {
  void reply.status(status).headers(headers);
  reply.removeHeader('content-length');
  return body;
}

/** undefined for a stream. */
function bytesOf(payload: unknown): Buffer | undefined {
  if (payload === undefined || payload === null) return Buffer.alloc(0);
  if (typeof payload === 'string') return Buffer.from(payload);
  return Buffer.isBuffer(payload) ? payload : undefined;
}

function keptHeaders(reply: FastifyReply): Record<string, string> {
  const all = reply.getHeaders();
  return Object.fromEntries(
    KEPT_HEADERS.flatMap(name => (all[name] === undefined ? [] : [[name, String(all[name])]])),
  );
}

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
