import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { TrustedProxies } from '../../platform/http/index.js';
import { Ingress } from '../../platform/ingress/index.js';
import { sendProblem } from './answers.js';
import { GatewayRecord } from './gateway-record.js';
import { HostedRequests } from './hosted-requests.js';
import { type HostedHost, HostTable } from './hosts/host-table.js';
import { HostingDomain, normalizeHost } from './hosts/hosting-domain.js';
import * as pages from './pages.js';
import { MAX_HEADERS, RequestLimits } from './request-limits.js';
import { hasSeveralHosts, targetAt } from './request-target.js';

const MAX_KNOWN_HEADERS = 1_000;

/** Concurrency slot of an open request. */
interface Place {
  end: (() => void) | undefined;
}

/** `maybe`: possibly a custom host, which has to be looked up. */
type Belongs = 'yes' | 'maybe' | 'no';

/** Answers requests for hosted hosts before the API. Cheap checks come first: target, limits, access, content. */
@Injectable()
export class Gateway {
  private readonly headers = new LRUCache<string, { readonly name: string; readonly belongs: Belongs }>({
    max: MAX_KNOWN_HEADERS,
  });

  constructor(
    private readonly domain: HostingDomain,
    private readonly ingress: Ingress,
    private readonly hosts: HostTable,
    private readonly requests: HostedRequests,
    private readonly proxies: TrustedProxies,
    private readonly record: GatewayRecord,
    private readonly limits: RequestLimits,
  ) {}

  /** Answers requests for hosted hosts, and passes any other to `others`. */
  handle(request: IncomingMessage, response: ServerResponse, others: () => void): void {
    const { name, belongs } = this.read(request.headers.host ?? '');
    if (belongs === 'no') others();
    else if (belongs === 'yes') void this.answer(name, request, response);
    else void this.lookFurther(name, request, response, others);
  }

  /** Whether a WebSocket request is for a hosted host, as far as can be told without a lookup. */
  takesUpgrade({ headers }: IncomingMessage): boolean {
    const isWebSocket = headers.upgrade?.toLowerCase() === 'websocket';
    return isWebSocket && this.read(headers.host ?? '').belongs !== 'no';
  }

  private async lookFurther(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
    others: () => void,
  ): Promise<void> {
    const client = this.proxies.clientOf(request);
    // Where the database is away, or an address tries one name after the other, it is not looked up.
    const isGuessing = this.limits.isRefusedTooOften(client);
    const host = isGuessing ? null : await this.findIfThere(name);
    if (host) await this.answer(name, request, response);
    else others();
  }

  private async findIfThere(name: string): Promise<HostedHost | null> {
    try {
      return await this.hosts.find(name);
    } catch {
      return null;
    }
  }

  private async answer(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Its client left while the host was looked up: nothing would end what begins here.
    if (response.destroyed) return;
    const start = performance.now();
    const place: Place = { end: undefined };
    response.on('close', () => {
      place.end?.();
      this.record.answered(name, request, response, start);
    });
    const client = this.proxies.clientOf(request);
    try {
      if (!(await this.open(name, client, place, request, response))) this.limits.refused(client);
    } catch (error) {
      this.fail(error, name, request, response);
    }
  }

  /** False for requests that lead nowhere or were refused. */
  private async open(
    name: string,
    client: string,
    place: Place,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    if (request.rawHeaders.length > 2 * MAX_HEADERS) {
      sendProblem(request, response, 431, pages.TOO_MANY_HEADERS, { connection: 'close' });
      return false;
    }
    const target = hasSeveralHosts(request) ? undefined : targetAt(request);
    if (target === undefined) {
      sendProblem(request, response, 400, pages.MALFORMED, { connection: 'close' });
      return false;
    }
    const end = this.limits.isRefusedTooOften(client) ? undefined : this.limits.open(client, name);
    if (!end) {
      sendProblem(request, response, 429, pages.BUSY, { 'retry-after': '60' });
      return true;
    }
    place.end = end;
    const found = this.hosts.find(name);
    const host = found instanceof Promise ? await found : found;
    if (!host) {
      sendProblem(request, response, 404, pages.NOT_FOUND);
      return false;
    }
    request.url = target;
    return this.requests.open({ host, request, response });
  }

  private fail(error: unknown, host: string, request: IncomingMessage, response: ServerResponse): void {
    const isAway = isOutage(error);
    if (!isAway) this.record.fault(host, error);
    if (response.headersSent || response.destroyed) response.destroy();
    else if (isAway) sendProblem(request, response, 503, pages.UNAVAILABLE, { 'retry-after': '2' });
    else sendProblem(request, response, 500, pages.BROKEN);
  }

  /** Parses a Host header, cached: most requests have one of few. */
  private read(sent: string): { readonly name: string; readonly belongs: Belongs } {
    const known = this.headers.get(sent);
    if (known) return known;
    const name = normalizeHost(sent);
    const read = { name, belongs: this.belongs(name) };
    this.headers.set(sent, read);
    return read;
  }

  private belongs(host: string): Belongs {
    if (host === '' || this.ingress.has(host)) return 'no';
    if (this.domain.holds(host)) return 'yes';
    return host.includes('.') && isIP(host) === 0 && !host.startsWith('[') ? 'maybe' : 'no';
  }
}
