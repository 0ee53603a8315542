import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';

export const CLIENT_DOCUMENT = '/oauth/client.json';
export const CALLBACK = '/api/connectors/callback';

/** Client metadata for authorization servers, by registration or by the document below. */
export const clientMetadata = (baseUrl: string) => ({
  client_name: 'Atelier',
  client_uri: baseUrl,
  redirect_uris: [new URL(CALLBACK, baseUrl).href],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/** The address of our metadata document, which is our client id; undefined where servers cannot rely on it. */
export function clientDocumentUrl(baseUrl: string): string | undefined {
  return baseUrl.startsWith('https:') ? new URL(CLIENT_DOCUMENT, baseUrl).href : undefined;
}

/** Our client metadata document: authorization servers read it instead of having us register. */
@Public()
@ApiExcludeController()
@Controller()
export class ClientDocumentController {
  constructor(private readonly config: Config) {}

  @Get(CLIENT_DOCUMENT)
  @Header('cache-control', 'public, max-age=3600')
  document(): object {
    const { baseUrl } = this.config;
    return { client_id: new URL(CLIENT_DOCUMENT, baseUrl).href, ...clientMetadata(baseUrl) };
  }
}
