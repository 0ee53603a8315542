import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type RateLimiterRes } from 'rate-limiter-flexible';
import { CountExchange, SharedCounter } from '#libs/shared-counter/index.js';
import { type Actor, sentApiKey } from '../access/index.js';
import { Config } from '../config/index.js';
import { TooManyRequests } from '../errors/index.js';
import { type Counter, Metrics } from '../metrics/index.js';
import { Counters } from './counters.js';

/**
 * What counts as one caller among addresses: an IPv4 address by itself, an IPv6 address with its whole /64, which is what
 * one subscriber gets. What is no address (a proxy may say anything) counts as one caller.
 */
export function networkOf(address: string): string {
  const version = isIP(address);
  if (version === 4) return address;
  if (version === 0) return 'unknown';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1]) return mapped[1];
  const [head = '', tail] = address.split('%', 1).join('').toLowerCase().split('::');
  const groups = head.split(':').filter(Boolean);
  // What `::` stands for, so that the first four groups are known.
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter(Boolean).length;
  const all = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...(tail ?? '').split(':')];
  const network = all.slice(0, 4).map(group => Number.parseInt(group || '0', 16).toString(16));
  return `${network.join(':')}::/64`;
}

export type PolicyName = 'credential' | 'address' | 'invalid-credentials' | 'shared-files' | 'webhooks';

/** One limit on requests a minute, and what callers read of it (draft-ietf-httpapi-ratelimit-headers). */
export class RatePolicy {
  constructor(
    readonly name: PolicyName,
    /** Requests a minute; 0 for any number. */
    private readonly limit: number,
    /** How a refusal says what was counted. */
    private readonly counted: string,
    private readonly counter: SharedCounter,
  ) {}

  /** Counts one request of the caller; answers the refusal where that is one too many. */
  async count(caller: string, reply: FastifyReply): Promise<TooManyRequests | undefined> {
    const { name, limit, counter } = this;
    if (limit === 0) return undefined;
    const count = await counter.take(caller);
    const seconds = secondsLeft(count);
    void reply
      .header('ratelimit-policy', `"${name}";q=${limit};w=60`)
      .header('ratelimit', `"${name}";r=${count.remainingPoints};t=${seconds}`);
    if (count.consumedPoints <= limit) return undefined;
    return new TooManyRequests(`More than ${limit} ${this.counted}; try again in ${seconds} s`, {
      'retry-after': String(seconds),
    });
  }

  /** Takes back one request that belongs to another policy. */
  async giveBack(caller: string): Promise<void> {
    if (this.limit > 0) await this.counter.giveBack(caller);
  }
}

const secondsLeft = ({ msBeforeNext }: RateLimiterRes) => Math.max(1, Math.ceil(msBeforeNext / 1000));

const MAX_CREDENTIALS = 50_000;
/** Routes that are asked often, by design, and cost next to nothing. */
const FREE = /^\/(api\/health(\/.*)?|metrics)$/;
/** Routes of share links: one page may show many files. */
const SHARED = /^\/s\//;
/** Routes of webhooks, with a credential in their path. */
const WEBHOOK = /^\/api\/hooks\//;

/**
 * Requests a minute, for each credential, and for each address without one. The matched route decides which limit applies,
 * as an address can be spelt in many ways. A credential that is new to this process counts as invalid for its address until
 * it proves valid: guessing is limited before it costs a query, and does not use up the requests without a credential.
 *
 * Each process counts up to the limit. Together they exceed it by at most, for each process but one, a tenth of the limit and
 * what arrives there before the counts are exchanged.
 */
@Injectable()
export class RateLimits implements OnApplicationShutdown {
  /** Ids of credentials that proved valid here, by a hash of what was sent. */
  private readonly recognised = new LRUCache<string, string>({ max: MAX_CREDENTIALS });
  /** That hash, of requests whose credential is yet to prove valid. */
  private readonly unproven = new WeakMap<FastifyRequest, string>();
  private readonly perCredential: RatePolicy;
  private readonly perAddress: RatePolicy;
  private readonly perInvalid: RatePolicy;
  private readonly perVisitor: RatePolicy;
  private readonly perWebhook: RatePolicy;
  private readonly refusals: Counter<'policy'>;

  constructor(
    config: Config,
    private readonly counters: Counters,
    private readonly exchange: CountExchange,
    metrics: Metrics,
  ) {
    this.refusals = metrics.counter({
      name: 'atelier_rate_limit_refusals_total',
      help: 'Requests that were refused with 429, by the policy that they went beyond.',
      labels: ['policy'],
    });
    const { credential, anonymous, shared, webhook } = config.minuteLimits;
    this.perCredential = this.policy('credential', credential, 'with this credential');
    this.perAddress = this.policy('address', anonymous, 'with this address');
    this.perInvalid = this.policy(
      'invalid-credentials',
      anonymous,
      'with invalid credentials from this address',
    );
    this.perVisitor = this.policy('shared-files', shared, 'for shared files from this address');
    this.perWebhook = this.policy('webhooks', webhook, 'for this webhook');
  }

  onApplicationShutdown(): void {
    this.exchange.close();
  }

  /** Stands before everything else that a request costs. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', async (request, reply) => {
      const route = request.routeOptions.url ?? '';
      if (!FREE.test(route)) await this.admit(request, reply, route);
    });
  }

  /** Counts a request for its credential from now on, once that has proved valid. Throws where it is over its limit. */
  recognise(request: FastifyRequest, reply: FastifyReply, { credential }: Actor): Promise<void> {
    return this.proved(request, reply, this.perCredential, credential.id);
  }

  /** As {@link recognise}, for the address of a webhook. */
  recogniseWebhook(request: FastifyRequest, reply: FastifyReply, triggerId: string): Promise<void> {
    return this.proved(request, reply, this.perWebhook, triggerId);
  }

  private async proved(
    request: FastifyRequest,
    reply: FastifyReply,
    policy: RatePolicy,
    id: string,
  ): Promise<void> {
    const key = this.unproven.get(request);
    if (key === undefined) return;
    this.recognised.set(key, id);
    await this.perInvalid.giveBack(networkOf(request.ip));
    await this.count(policy, id, reply);
  }

  private async admit(request: FastifyRequest, reply: FastifyReply, route: string): Promise<void> {
    if (SHARED.test(route)) return this.count(this.perVisitor, networkOf(request.ip), reply);
    const isWebhook = WEBHOOK.test(route);
    const sent = isWebhook ? request.url.split('?', 1)[0] : sentCredential(request);
    const key = sent && hash('sha256', sent, 'base64');
    const id = key && this.recognised.get(key);
    if (id) return this.count(isWebhook ? this.perWebhook : this.perCredential, id, reply);
    // Without a route, no guard checks a credential.
    if (!key || route === '') return this.count(this.perAddress, networkOf(request.ip), reply);
    this.unproven.set(request, key);
    return this.count(this.perInvalid, networkOf(request.ip), reply);
  }

  private async count(policy: RatePolicy, caller: string, reply: FastifyReply): Promise<void> {
    const refusal = await policy.count(caller, reply);
    if (!refusal) return;
    this.refusals.add({ policy: policy.name });
    throw refusal;
  }

  private policy(name: PolicyName, limit: number, of: string): RatePolicy {
    const everywhere = this.counters.of({ table: 'rate_count', prefix: name, seconds: 60 });
    const counter = new SharedCounter({ limit, seconds: 60, exchange: this.exchange, everywhere });
    return new RatePolicy(name, limit, `requests a minute ${of}`, counter);
  }
}

/** What a request sends to prove who it comes from. `Basic` is for OAuth clients, which do not act for a person by it. */
function sentCredential({ headers }: FastifyRequest): string | undefined {
  const { authorization } = headers;
  const key = sentApiKey(headers);
  if (key !== undefined) return key;
  return authorization && /^(bearer|dpop) /i.test(authorization) ? authorization : undefined;
}
