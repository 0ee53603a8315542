import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../platform/access/index.js';
import { SIGNING_ALGORITHM } from './keys/signing-keys.js';
import { OAuthResources } from './scopes/resources.js';
import { ADVERTISED_SCOPES } from './scopes/scopes.js';

/** What a client has to know of our resources before it asks for a token (RFC 9728). */
@Public()
@ApiExcludeController()
@Controller()
export class WellKnownController {
  constructor(private readonly resources: OAuthResources) {}

  /** For clients that look at the origin: the MCP endpoint is what they are after. */
  @Header('access-control-allow-origin', '*')
  @Get(['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])
  mcp() {
    return this.describe(this.resources.mcp, 'Atelier (MCP)');
  }

  @Header('access-control-allow-origin', '*')
  @Get('/.well-known/oauth-protected-resource/api')
  api() {
    return this.describe(this.resources.api, 'Atelier API');
  }

  private describe(resource: string, resource_name: string) {
    return {
      resource,
      resource_name,
      authorization_servers: [this.resources.issuer],
      scopes_supported: ADVERTISED_SCOPES,
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: [SIGNING_ALGORITHM, 'Ed25519', 'EdDSA'],
      resource_documentation: `${this.resources.issuer}/docs`,
    };
  }
}
