import type { ExchangeForwarder, InspectedExchange } from '#libs/egress-proxy/index.js';
import { proxyRequest, Upstream } from '#libs/reverse-proxy/index.js';

/** Silence of the server, while its answer is waited for or comes, that ends an exchange. */
const SILENCE_MS = 120_000;
const MAX_IDLE = 4;

/** Sends the requests of one sandbox on, over connections that are used again for the same host. */
export class Exchanges implements ExchangeForwarder {
  private readonly upstreams = new Map<string, Upstream>();

  exchange(exchange: InspectedExchange): Promise<void> {
    const { request, response, added, keeps, gate, onBytes, signal } = exchange;
    return proxyRequest(request, response, this.upstreamOf(exchange), {
      ...{ scheme: 'https', isOutbound: true, answerMs: SILENCE_MS, silenceMs: SILENCE_MS },
      ...{ added, gate, onBytes, signal },
      requestHeader: (name, value) => (keeps(name) ? value : undefined),
    });
  }

  forget(host?: string): void {
    for (const [key, upstream] of this.upstreams) {
      if (host !== undefined && key !== host) continue;
      upstream.close();
      this.upstreams.delete(key);
    }
  }

  private upstreamOf({ host, port, connect }: InspectedExchange): Upstream {
    const key = `${host}:${port}`;
    const upstream = this.upstreams.get(key) ?? new Upstream(connect, { maxIdle: MAX_IDLE });
    this.upstreams.set(key, upstream);
    return upstream;
  }
}
