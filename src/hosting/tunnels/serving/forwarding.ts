import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type ForwardRules, Upstream } from '#libs/reverse-proxy/index.js';
import { TrustedProxies } from '../../../platform/http/index.js';
import { type Admitted, type HostedHost, HostingDomain, ViewerTokens } from '../../gateway/index.js';

import type { InstanceRow } from '../records/instances.store.js';
import { ServerConnections } from '../running/server-connections.js';
import { HEADER_RULES, ourSubprotocol } from './forwarded-headers.js';
import { localHostRules } from './local-host.js';
import type { ReadyInstance } from './server-instances.js';

/** Upstreams kept; idle connections close by themselves. */
const MAX_UPSTREAMS = 1_000;

/** How requests are forwarded: over which connections, and with which headers. */
@Injectable()
export class Forwarding {
  private readonly upstreams = new LRUCache<string, Upstream>({
    max: MAX_UPSTREAMS,
    dispose: upstream => upstream.close(),
  });

  constructor(
    private readonly connections: ServerConnections,
    private readonly viewers: ViewerTokens,
    private readonly domain: HostingDomain,
    private readonly proxies: TrustedProxies,
  ) {}

  upstreamOf(instance: InstanceRow): Upstream {
    const { id } = instance;
    const kept = this.upstreams.get(id);
    if (kept) return kept;
    const made = new Upstream(signal => this.connections.connect(instance, signal));
    this.upstreams.set(id, made);
    return made;
  }

  /** Call for a process that could not be reached. */
  suspect(instance: InstanceRow): void {
    this.upstreams.delete(instance.id);
    this.connections.suspect(instance);
  }

  async rulesFor(
    host: HostedHost,
    { viewer }: Admitted,
    request: IncomingMessage,
    { server, instance }: ReadyInstance,
  ): Promise<ForwardRules> {
    const isLocal = server.host_header === 'local' && instance.port !== null;
    const local = `localhost:${instance.port}`;
    return {
      ...(isLocal
        ? localHostRules(request, { local, origin: host.origin, rules: HEADER_RULES })
        : HEADER_RULES),
      scheme: this.domain.isSecure ? 'https' : 'http',
      isPeerTrusted: this.proxies.believes(request.socket.remoteAddress),
      ...(isLocal && { host: local }),
      ...(viewer && { added: ['X-Atelier-Viewer', await this.viewers.sign(host, viewer)] }),
      subprotocol: ourSubprotocol(request),
    };
  }
}
