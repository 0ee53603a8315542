import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../access/actor.js';
import { Config } from '../config/config.js';
import { TooManyRequests } from './problem.js';
import { networkOf } from './rate-limit-address.js';
import { RateLimitShare } from './rate-limit-share.js';
import { elapsedAt, minuteOf, RateWindows, type Verdict } from './rate-limit-window.js';

const MOST_CALLERS = 100_000;
const MOST_CREDENTIALS = 50_000;
/** Part of a limit that a process may let through before it tells the others. */
const QUIET_SHARE = 10;
const LIMITED = /^\/(api|mcp|oauth)(?=[/?]|$)(?!\/health(?=[/?]|$))/;

interface Policy {
  readonly name: 'credential' | 'address';
  /** Requests a minute; 0 for any number. */
  readonly limit: number;
  /** The policy as `RateLimit-Policy` says it. */
  readonly header: string;
}

const policyOf = (name: Policy['name'], limit: number): Policy => ({
  name,
  limit,
  header: `"${name}";q=${limit};w=60`,
});

/**
 * Requests a minute, for each credential, and for each address without one (RateLimit headers as in
 * draft-ietf-httpapi-ratelimit-headers). A credential that this process has not seen yet counts for its address until it
 * proves valid, so that guessing is limited before it costs a query.
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

  constructor(
    @Inject(Config) config: Config,
    @Inject(RateLimitShare) private readonly share: RateLimitShare,
  ) {
    this.perCredential = policyOf('credential', config.rateLimitPerMinute);
    this.perAddress = policyOf('address', config.rateLimitAnonymousPerMinute);
  }

  /** Stands before everything else that a request costs. */
  register(fastify: FastifyInstance): void {
    if (this.perCredential.limit === 0 && this.perAddress.limit === 0) return;
    fastify.addHook('onRequest', (request, reply, done) => {
      done(LIMITED.test(request.url) ? this.admit(request, reply) : undefined);
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
    if (this.perAddress.limit > 0) this.windows.at(networkOf(request.ip), Date.now()).giveBack();
    const refusal = this.count(this.perCredential, credential.id, reply);
    if (refusal) throw refusal;
  }

  private admit(request: FastifyRequest, reply: FastifyReply): TooManyRequests | undefined {
    const sent = sentCredential(request);
    const key = sent && hash('sha256', sent, 'base64');
    const id = key && this.recognised.get(key);
    if (id) return this.count(this.perCredential, id, reply);
    if (key) this.unproven.set(request, key);
    return this.count(this.perAddress, networkOf(request.ip), reply);
  }

  private count(policy: Policy, caller: string, reply: FastifyReply): TooManyRequests | undefined {
    if (policy.limit === 0) return undefined;
    const now = Date.now();
    const window = this.windows.at(caller, now);
    const verdict = window.take(policy.limit, elapsedAt(now));
    if (window.unshared >= Math.max(1, policy.limit / QUIET_SHARE))
      this.share.add({ caller, minute: minuteOf(now), window });
    void reply.header('ratelimit-policy', policy.header).header('ratelimit', headerOf(policy, verdict));
    return verdict.allowed ? undefined : refusalOf(policy, verdict);
  }
}

/** What a request sends to prove who it comes from, whatever it is. */
function sentCredential({ headers }: FastifyRequest): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? key : headers.authorization;
}

const headerOf = ({ name }: Policy, { remaining, seconds }: Verdict) =>
  `"${name}";r=${remaining};t=${seconds}`;

function refusalOf({ name, limit }: Policy, { seconds }: Verdict): TooManyRequests {
  return new TooManyRequests(
    `More than ${limit} requests a minute with this ${name}; try again in ${seconds} s`,
    { 'retry-after': String(seconds) },
  );
}
