import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Forbidden } from '../../platform/errors/index.js';

/** What a request says of where it comes from and where it believes to go. */
interface Headers {
  readonly host?: string;
  readonly origin?: string;
}

/**
 * Keeps web pages of others out (DNS rebinding): a name that is not ours in `Host`, or an `Origin` that is neither ours
 * nor allowed by MCP_ALLOWED_ORIGINS. Programs that are no browsers send no `Origin`.
 */
@Injectable()
export class McpOrigins {
  private readonly own: URL;
  /** The last host that was ours: nearly always the next one, too. */
  private known: string | undefined;

  constructor(private readonly config: Config) {
    this.own = new URL(config.baseUrl);
  }

  /** Throws Forbidden for a request that a page of somebody else may have made. */
  requireOurs({ host, origin }: Headers): void {
    if (!this.isOurHost(host))
      throw new Forbidden(
        `Host names ${shown(host)}, which is not this service: use ${this.own.host}, set PUBLIC_URL, or let the proxy pass Host on`,
      );
    if (origin !== undefined && !this.isOurOrigin(origin, host) && !this.isAllowed(origin))
      throw new Forbidden(
        `Pages of ${shown(origin)} may not call this; MCP_ALLOWED_ORIGINS lists those that may`,
      );
  }

  /** Whether the origin is one of others that the operator allowed. */
  isAllowed(origin: string | undefined): origin is string {
    return origin !== undefined && this.config.mcpAllowedOrigins.includes(origin.toLowerCase());
  }

  /** An address cannot be rebound as a name can, so any is fine. */
  private isOurHost(host: string | undefined): boolean {
    if (host !== undefined && host === this.known) return true;
    const name = host && URL.parse(`http://${host}`)?.hostname;
    if (!name) return false;
    const isAddress = isIP(name) !== 0 || isIP(name.slice(1, -1)) === 6;
    const isOurs = isAddress || name === 'localhost' || name === this.own.hostname;
    if (isOurs) this.known = host;
    return isOurs;
  }

  private isOurOrigin(origin: string, host: string | undefined): boolean {
    const parsed = URL.parse(origin);
    if (!parsed || parsed.origin === 'null') return false;
    if (parsed.origin === this.own.origin) return true;
    return this.config.publicUrl === undefined && parsed.host === host;
  }
}

const shown = (text: string | undefined) => JSON.stringify((text ?? '').slice(0, 200));
