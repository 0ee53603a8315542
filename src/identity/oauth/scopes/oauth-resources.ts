import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';

/** What access tokens can be for (RFC 8707): a token for one is worth nothing at the other. */
@Injectable()
export class OAuthResources {
  /** The MCP endpoint; what a client means that names no resource. */
  readonly mcp: string;
  readonly api: string;
  /** The authorization server, which is the origin. */
  readonly issuer: string;

  constructor(@Inject(Config) { baseUrl }: Config) {
    this.issuer = baseUrl;
    this.mcp = `${baseUrl}/mcp`;
    this.api = `${baseUrl}/api`;
  }

  isKnown(resource: string): boolean {
    return resource === this.mcp || resource === this.api;
  }

  /** Where the metadata of the MCP endpoint is (RFC 9728 section 3.1), for `WWW-Authenticate: Bearer resource_metadata="…"`. */
  get mcpMetadata(): string {
    return `${this.issuer}/.well-known/oauth-protected-resource/mcp`;
  }
}
