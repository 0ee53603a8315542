import type { ExchangeForwarder, ForwardedExchange } from '#libs/egress-proxy/index.js';
import { proxyRequest, Upstream } from '#libs/reverse-proxy/index.js';

/** Silence of the server, while its answer is waited for or comes, that ends an exchange. */
const SILENCE_MS = 120_000;
const MAX_IDLE = 4;

/** Sends the requests of one sandbox on. Connections with TLS are used again for the same host. */
export class Exchanges implements ExchangeForwarder {
  private readonly upstreams = new Map<string, Upstream>();

  async exchange(exchange: ForwardedExchange): Promise<void> {
    const { request, response, scheme, authority, added, keeps, gate, onBytes, signal } = exchange;
    const isSecure = scheme === 'https';
    // No credential goes over a connection that was opened without TLS.
    const upstream = isSecure ? this.upstreamOf(exchange) : new Upstream(exchange.connect);
    try {
      await proxyRequest(request, response, upstream, {
        scheme,
        isOutbound: true,
        answerMs: SILENCE_MS,
        silenceMs: SILENCE_MS,
        ...(authority !== undefined && { host: authority }),
        added,
        gate,
        onBytes,
        signal,
        requestHeader: (name, value) => (keeps(name) ? value : undefined),
      });
    } finally {
      if (!isSecure) upstream.close();
    }
  }

  forget(host?: string): void {
    for (const [key, upstream] of this.upstreams) {
      if (host !== undefined && key !== host) continue;
      upstream.close();
      this.upstreams.delete(key);
    }
  }

  private upstreamOf({ host, port, connect }: ForwardedExchange): Upstream {
    const key = `${host}:${port}`;
    const upstream = this.upstreams.get(key) ?? new Upstream(connect, { maxIdle: MAX_IDLE });
    this.upstreams.set(key, upstream);
    return upstream;
  }
}
