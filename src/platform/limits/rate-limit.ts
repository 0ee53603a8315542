import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../access/index.js';
import { Config } from '../config/index.js';
import { TooManyRequests } from '../errors/index.js';
import { type Counter, Metrics } from '../metrics/index.js';
import { networkOf } from './rate-limit-address.js';
import { RateLimitShare } from './rate-limit-share.js';
import { elapsedAt, minuteOf, RateWindows, type Verdict } from './rate-limit-window.js';

const MOST_CALLERS = 100_000;
const MOST_CREDENTIALS = 50_000;
/** Part of a limit that a process may let through before it tells the others. */
const QUIET_SHARE = 10;
/** Routes that are asked often, by design, and cost next to nothing. */
const FREE = /^\/(api\/health(\/.*)?|metrics)$/;
/** Routes of share links: one page may show many files. */
const SHARED = /^\/s\//;

interface Policy {
  readonly name: 'credential' | 'address' | 'invalid-credentials' | 'shared-files';
  /** How a refusal says what was counted. */
  readonly of: string;
  /** Requests a minute; 0 for any number. */
  readonly limit: number;
  /** The policy as `RateLimit-Policy` says it. */
  readonly header: string;
}

const policyOf = (name: Policy['name'], limit: number, of: string): Policy => ({
  name,
  of,
  limit,
  header: `"${name}";q=${limit};w=60`,
});

/**
 * Requests a minute, for each credential, and for each address without one (RateLimit headers as in
 * draft-ietf-httpapi-ratelimit-headers). Which limit counts is decided by the route that was matched: an address can be
 * spelt in many ways. A credential that this process has not seen yet is checked, as often as an address may send
 * credentials that prove invalid: guessing is limited before it costs a query, and an address whose requests without a
 * credential are spent still lets in whoever has a valid one.
 *
 * Processes count by themselves and exchange their counts in batches. Each lets a caller through up to the limit; what
 * all do together goes beyond it by at most, for every process but one, a tenth of the limit and what comes to that
 * process within the 0.2 s that an exchange takes.
 */
@Injectable()
export class RateLimits {
  private readonly windows = new RateWindows(MOST_CALLERS);
  /** Ids of credentials that proved valid here, by a hash of what was sent. */
  private readonly recognised = new Map<string, string>();
  /** That hash, of requests whose credential is yet to prove valid. */
  private readonly unproven = new WeakMap<FastifyRequest, string>();
  private readonly perCredential: Policy;
  private readonly perAddress: Policy;
  private readonly perInvalid: Policy;
  private readonly perVisitor: Policy;
  private readonly refusals: Counter<'policy'>;

  constructor(
    config: Config,
    private readonly share: RateLimitShare,
    metrics: Metrics,
  ) {
    this.refusals = metrics.counter({
      name: 'atelier_rate_limit_refusals_total',
      help: 'Requests that were refused with 429, by the policy that they went beyond.',
      labels: ['policy'],
    });
    const { rateLimitPerMinute, rateLimitAnonymousPerMinute, rateLimitSharedPerMinute } = config;
    this.perCredential = policyOf('credential', rateLimitPerMinute, 'requests a minute with this credential');
    this.perAddress = policyOf('address', rateLimitAnonymousPerMinute, 'requests a minute with this address');
    this.perInvalid = policyOf(
      'invalid-credentials',
      rateLimitAnonymousPerMinute,
      'requests a minute with invalid credentials from this address',
    );
    this.perVisitor = policyOf(
      'shared-files',
      rateLimitSharedPerMinute,
      'requests a minute for shared files from this address',
    );
  }

  /** Stands before everything else that a request costs. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      const route = request.routeOptions.url ?? '';
      done(FREE.test(route) ? undefined : this.admit(request, reply, route));
    });
  }

  /** Counts a request for its credential from now on, once that has proved valid. Throws where it is over its limit. */
  recognise(request: FastifyRequest, reply: FastifyReply, { credential }: Actor): void {
    const key = this.unproven.get(request);
    if (key === undefined) return;
    this.recognised.set(key, credential.id);
    if (this.recognised.size > MOST_CREDENTIALS) {
      const [oldest] = this.recognised.keys();
      this.recognised.delete(oldest ?? '');
    }
    if (this.perInvalid.limit > 0) this.windows.at(invalidFrom(request), Date.now()).giveBack();
    const refusal = this.count(this.perCredential, credential.id, reply);
    if (refusal) throw refusal;
  }

  private admit(request: FastifyRequest, reply: FastifyReply, route: string): TooManyRequests | undefined {
    if (SHARED.test(route)) return this.count(this.perVisitor, `shared ${networkOf(request.ip)}`, reply);
    const sent = sentCredential(request);
    const key = sent && hash('sha256', sent, 'base64');
    const id = key && this.recognised.get(key);
    if (id) return this.count(this.perCredential, id, reply);
    // Where there is no route nobody checks a credential.
    if (!key || route === '') return this.count(this.perAddress, networkOf(request.ip), reply);
    this.unproven.set(request, key);
    return this.count(this.perInvalid, invalidFrom(request), reply);
  }

  private count(policy: Policy, caller: string, reply: FastifyReply): TooManyRequests | undefined {
    if (policy.limit === 0) return undefined;
    const now = Date.now();
    const window = this.windows.at(caller, now);
    const verdict = window.take(policy.limit, elapsedAt(now));
    if (window.unshared >= Math.max(1, policy.limit / QUIET_SHARE))
      this.share.add({ caller, minute: minuteOf(now), window });
    void reply.header('ratelimit-policy', policy.header).header('ratelimit', headerOf(policy, verdict));
    if (verdict.allowed) return undefined;
    this.refusals.add({ policy: policy.name });
    return refusalOf(policy, verdict);
  }
}

/** Whose window counts credentials that are yet to prove valid. */
const invalidFrom = ({ ip }: FastifyRequest) => `invalid ${networkOf(ip)}`;

/** What a request sends to prove who it comes from. `Basic` is for OAuth clients, which act for nobody by it. */
function sentCredential({ headers }: FastifyRequest): string | undefined {
  const { 'x-api-key': key, authorization } = headers;
  if (typeof key === 'string') return key;
  return authorization && /^(bearer|dpop) /i.test(authorization) ? authorization : undefined;
}

const headerOf = ({ name }: Policy, { remaining, seconds }: Verdict) =>
  `"${name}";r=${remaining};t=${seconds}`;

function refusalOf({ of, limit }: Policy, { seconds }: Verdict): TooManyRequests {
  return new TooManyRequests(`More than ${limit} ${of}; try again in ${seconds} s`, {
    'retry-after': String(seconds),
  });
}
