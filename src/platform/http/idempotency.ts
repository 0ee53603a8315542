import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../access/actor.js';
import { Log } from '../log/log.js';
import { IdempotencyLedger } from './idempotency-ledger.js';
import { IdempotencySeal, IdempotencyVault, StoredAnswer } from './idempotency-vault.js';
import { BadRequest, Conflict, Invalid } from './problem.js';

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
export const MOST_ANSWER_BYTES = 1024 * 1024;
const KEY = /^[\x20-\x7e]{1,255}$/;

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

/** A request that entered with a key: either it runs and we hold its row, or it gets an answer again. */
interface Exchange {
  readonly seal: IdempotencySeal;
  readonly holder: string | undefined;
  readonly replay: StoredAnswer | undefined;
  /** Whether the row's fate is decided, or there is none. */
  settled: boolean;
  streamed: boolean;
}

/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice runs once. The interceptor
 * brings requests in; hooks of the server, which see every answer as it leaves, keep it.
 */
@Injectable()
export class Idempotency {
  private readonly exchanges = new WeakMap<FastifyRequest, Exchange>();

  constructor(
    @Inject(IdempotencyVault) private readonly vault: IdempotencyVault,
    @Inject(IdempotencyLedger) private readonly ledger: IdempotencyLedger,
    @Inject(Log) private readonly log: Log,
  ) {}

  /** Whether the request is to run; else its answer is at hand, and the hook sends it. */
  async admit(request: FastifyRequest, reply: FastifyReply, actor: Actor, key: string): Promise<boolean> {
    const credentialId = actor.credential.id;
    const seal = await this.vault.sealFor(credentialId, key);
    const fingerprint = seal.fingerprint(request.method, request.url, request.body);
    const standing = await this.ledger.enter({ credentialId, lookup: seal.lookup, fingerprint });
    if (standing.state === 'other-request')
      throw new Invalid(`This ${IDEMPOTENCY_KEY} was used for another request; send a new one`);
    if (standing.state === 'running')
      throw new Conflict('The first request with this key is still running', { 'retry-after': '1' });
    const ours = standing.state === 'ours';
    this.exchanges.set(request, {
      seal,
      holder: ours ? standing.holder : undefined,
      replay: ours ? undefined : seal.open(standing.answer),
      settled: !ours,
      streamed: false,
    });
    reply.raw.once('close', () => this.abandonIfOver(request, reply));
    return ours;
  }

  /** Forgets a request whose answer went past the hooks, or is a stream: it cannot be given again. */
  abandonIfOver(request: FastifyRequest, reply: FastifyReply): void {
    const exchange = this.exchanges.get(request);
    if (!exchange || exchange.settled || !reply.raw.closed) return;
    if (exchange.streamed || reply.sent) void this.settle(exchange, undefined);
  }

  /** Keeps the answers that leave, and gives those that are kept. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onSend', (request, reply, payload, done) => {
      const exchange = this.exchanges.get(request);
      if (!exchange) done(null, payload);
      else if (exchange.replay) done(null, replayed(reply, exchange.replay));
      else void this.keep(exchange, reply, payload).then(() => done(null, payload));
    });
  }

  private async keep(exchange: Exchange, reply: FastifyReply, payload: unknown): Promise<void> {
    if (exchange.settled) return;
    const body = bytesOf(payload);
    exchange.streamed = body === undefined;
    if (!body) return;
    const { statusCode: status } = reply;
    const kept = status < 500 && status !== 429 && body.length <= MOST_ANSWER_BYTES;
    await this.settle(exchange, kept ? { status, headers: keptHeaders(reply), body } : undefined);
  }

  /** A failure here costs the caller no answer: the row's lease runs out. */
  private async settle(exchange: Exchange, answer: StoredAnswer | undefined): Promise<void> {
    exchange.settled = true;
    if (!exchange.holder) return;
    try {
      if (answer) await this.ledger.answer(exchange.holder, exchange.seal.close(answer));
      else await this.ledger.release(exchange.holder);
    } catch (error) {
      this.log.error({ err: error }, 'the answer to a request with an Idempotency-Key could not be kept');
    }
  }
}

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

function replayed(reply: FastifyReply, { status, headers, body }: StoredAnswer): Buffer {
  void reply.status(status).headers(headers).header('idempotent-replayed', 'true');
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
