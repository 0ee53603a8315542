import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Dispatcher } from 'undici';
import { type AddressPolicy, isPublicAddress, PrivateHosts } from './address.js';
import { capBody } from './capped-body.js';
import { guardedAgent, refusalOf } from './connect.js';
import { GuardedFetchError } from './error.js';

export interface GuardedFetchOptions {
  /** Addresses that may be connected to; by default public ones, and `privateHosts`. */
  allows?: AddressPolicy;
  /** What else may be connected to; nothing by default. */
  privateHosts?: PrivateHosts;
  /** Only https, also after redirects. */
  httpsOnly?: boolean;
  /** Largest body in bytes, decompressed; 1 MiB by default. */
  maxBytes?: number;
  /** For everything together: look-up, redirects, the whole body; 10 s by default. */
  timeoutMs?: number;
  maxRedirects?: number;
  /** Certificate authorities to trust instead of the system's. */
  tls?: Pick<ConnectionOptions, 'ca'>;
}

/**
 * A request; `timeoutMs` and `maxBytes` instead of those of all. `keepAlive`: its connection may have served others of these,
 * and is kept for more; its address was checked when it was made.
 */
export type GuardedInit = RequestInit & { timeoutMs?: number; maxBytes?: number; keepAlive?: boolean };

const DEFAULTS = { httpsOnly: false, maxBytes: 1024 * 1024, timeoutMs: 10_000, maxRedirects: 5 };
const REDIRECTS = [301, 302, 303, 307, 308];
/** What is meant for one origin alone. */
const BOUND_TO_ORIGIN = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** `fetch` for addresses that strangers name: reaches nothing inside, follows nothing inside, takes only so much. */
export class GuardedFetch {
  /** Made at the first use: few installations fetch what strangers name. */
  private readonly agents = new Map<boolean, Promise<Dispatcher>>();
  private isClosed = false;
  private readonly tls: NonNullable<GuardedFetchOptions['tls']>;
  private readonly options: typeof DEFAULTS;
  private readonly allows: AddressPolicy;
  private readonly privateHosts: PrivateHosts;

  constructor({ allows, privateHosts = PrivateHosts.none, tls = {}, ...options }: GuardedFetchOptions = {}) {
    this.privateHosts = privateHosts;
    this.allows =
      allows ?? ((address, ...place) => isPublicAddress(address) || privateHosts.allows(address, ...place));
    this.tls = tls;
    this.options = { ...DEFAULTS, ...options };
  }

  /**
   * Refuses an address that nothing is to be sent to, as far as can be seen without looking its name up: http, except for
   * private places that are listed; private addresses. Throws {@link GuardedFetchError}.
   */
  refuseUnreachable(url: URL): void {
    if (url.protocol !== 'https:' && !this.privateHosts.lists(url))
      throw new GuardedFetchError('scheme', 'The address must begin with https://');
    this.refuseScheme(url, url);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    if (isIP(host) !== 0 && !this.allows(host, host, port)) throw refusalOf(host);
  }

  /** As the standard's, but for `dispatcher`; a bound method. Throws {@link GuardedFetchError} for what it refuses. */
  readonly fetch = async (
    input: string | URL,
    { timeoutMs = this.options.timeoutMs, maxBytes = this.options.maxBytes, ...init }: GuardedInit = {},
  ): Promise<Response> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    try {
      return capBody(await this.follow(new URL(input), { ...init, signal }), maxBytes);
    } catch (error) {
      if (deadline.aborted) throw new GuardedFetchError('time', 'The answer took too long');
      throw refusalIn(error) ?? error;
    }
  };

  /** Ends its connections; it can be used no more. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const agent of this.agents.values()) await (await agent).destroy();
  }

  private async follow(start: URL, init: RequestInit): Promise<Response> {
    let url = start;
    let request: GuardedInit = { ...init, redirect: 'manual' };
    for (let hops = 0; ; hops++) {
      this.refuseScheme(url, hops > 0 ? start : url);
      const response = await this.send(url, request);
      const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null;
      if (location === null || init.redirect === 'manual') return response;
      await response.body?.cancel();
      if (init.redirect === 'error' || hops >= this.options.maxRedirects)
        throw new GuardedFetchError('redirects', 'The address redirects more often than allowed');
      const next = new URL(location, url);
      request = redirected(request, response.status, next.origin !== url.origin);
      url = next;
    }
  }

  private async send(url: URL, init: GuardedInit): Promise<Response> {
    const { fetch } = await import('undici');
    const { keepAlive = false, ...rest } = init;
    const request = { ...rest, dispatcher: await this.connections(keepAlive) };
    return fetch(url, request as never) as unknown as Promise<Response>;
  }

  private connections(isKept: boolean): Promise<Dispatcher> {
    if (this.isClosed) throw new Error('This fetch is closed');
    const agent = this.agents.get(isKept) ?? guardedAgent(this.allows, this.tls, isKept);
    this.agents.set(isKept, agent);
    return agent;
  }

  private refuseScheme(url: URL, start: URL): void {
    const secure = url.protocol === 'https:';
    const mustBeSecure = this.options.httpsOnly || start.protocol === 'https:';
    if (!secure && (mustBeSecure || url.protocol !== 'http:'))
      throw new GuardedFetchError('scheme', `Addresses that begin with ${url.protocol} are not fetched here`);
    if (url.username !== '' || url.password !== '')
      throw new GuardedFetchError('scheme', 'An address with a user name or password is not fetched');
  }
}

/** The request after a redirect, as the Fetch standard says: what was a POST becomes a GET, secrets stay behind. */
function redirected(request: GuardedInit, status: number, elsewhere: boolean): GuardedInit {
  const headers = new Headers(request.headers);
  if (elsewhere) for (const name of BOUND_TO_ORIGIN) headers.delete(name);
  const method = request.method?.toUpperCase() ?? 'GET';
  const becomesGet = (status === 303 && method !== 'HEAD') || (status < 303 && method === 'POST');
  if (!becomesGet) return { ...request, headers };
  for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name);
  return { ...request, headers, method: 'GET', body: undefined };
}

/** Our own error, from wherever the client wrapped it. */
function refusalIn(error: unknown): GuardedFetchError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof GuardedFetchError) return at;
    if (at instanceof AggregateError) return at.errors.map(refusalIn).find(Boolean);
  }
  return undefined;
}
