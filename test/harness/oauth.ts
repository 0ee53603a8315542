import * as oauth from 'oauth4webapi';
import { Browser, type Visit } from './browser.js';
import { Client, type Json } from './client.js';
import { freePort } from './free-port.js';
import { type Person, TestService } from './service.js';

export const REDIRECT = 'http://127.0.0.1:9/callback';
/** The service under test has no TLS of its own. */
const insecure = { [oauth.allowInsecureRequests]: true };

/** Starts a service that knows its own address, as its tokens name it. */
export async function startOAuthService(
  environment: Record<string, string> = {},
  parts: Parameters<typeof TestService.start>[1] = {},
): Promise<TestService> {
  const port = String(await freePort());
  return TestService.start({ PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, ...environment }, parts);
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  token_type: string;
  scope: string;
}

interface Asking {
  scope?: string;
  resource?: string | null;
  redirect_uri?: string;
  dpop?: oauth.DPoPHandle;
  /** What is sent besides, or instead. */
  extra?: Record<string, string>;
}

/** A client of the authorization server, as strict as oauth4webapi. */
export class OAuthClient {
  private constructor(
    readonly service: TestService,
    readonly server: oauth.AuthorizationServer,
    readonly client: oauth.Client,
    readonly authentication: oauth.ClientAuth,
  ) {}

  static async discover(service: TestService): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(service.url);
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    return oauth.processDiscoveryResponse(issuer, response);
  }

  static async register(service: TestService, metadata: Json = {}): Promise<OAuthClient> {
    const server = await OAuthClient.discover(service);
    const response = await oauth.dynamicClientRegistrationRequest(
      server,
      { redirect_uris: [REDIRECT], client_name: 'Example', token_endpoint_auth_method: 'none', ...metadata },
      insecure,
    );
    const client = await oauth.processDynamicClientRegistrationResponse(response);
    const secret = client.client_secret;
    const authentication = typeof secret === 'string' ? oauth.ClientSecretBasic(secret) : oauth.None();
    return new OAuthClient(service, server, client, authentication);
  }

  static async of(service: TestService, client_id: string, secret?: string): Promise<OAuthClient> {
    const authentication = secret ? oauth.ClientSecretBasic(secret) : oauth.None();
    return new OAuthClient(service, await OAuthClient.discover(service), { client_id }, authentication);
  }

  get mcp(): string {
    return `${this.service.url}/mcp`;
  }

  /** The parameters of an authorization request, and the verifier that goes with them. */
  async request({ scope, resource = this.mcp, redirect_uri = REDIRECT, extra = {} }: Asking = {}) {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const parameters = new URLSearchParams({
      client_id: this.client.client_id,
      response_type: 'code',
      redirect_uri,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    if (scope !== undefined) parameters.set('scope', scope);
    if (resource !== null) parameters.set('resource', resource);
    for (const [name, value] of Object.entries(extra)) parameters.set(name, value);
    return { parameters, verifier, state };
  }

  address(parameters: URLSearchParams): string {
    return `${this.server.authorization_endpoint}?${parameters}`;
  }

  /** Signs in and answers the consent page; the address that the browser is sent back to. */
  async approve(
    person: Person,
    parameters: URLSearchParams,
    fields: Record<string, string | string[]> = {},
    browser = new Browser(this.service.url),
  ): Promise<URL> {
    const consent = await signIn(browser, await browser.open(this.address(parameters)), person);
    return (await allow(browser, consent, fields)).url;
  }

  /** The whole flow, from the request to the tokens. */
  async authorize(
    person: Person,
    asking: Asking = {},
    fields: Record<string, string | string[]> = {},
  ): Promise<Tokens> {
    const { parameters, verifier, state } = await this.request(asking);
    const callback = await this.approve(person, parameters, fields);
    return this.redeem(callback, verifier, state, asking);
  }

  async redeem(callback: URL, verifier: string, state: string, asking: Asking = {}): Promise<Tokens> {
    const answered = oauth.validateAuthResponse(this.server, this.client, callback, state);
    const response = await oauth.authorizationCodeGrantRequest(
      this.server,
      this.client,
      this.authentication,
      answered,
      asking.redirect_uri ?? REDIRECT,
      verifier,
      { ...insecure, DPoP: asking.dpop },
    );
    const tokens = await oauth.processAuthorizationCodeResponse(this.server, this.client, response);
    return tokens as unknown as Tokens;
  }

  /** A request to the token endpoint, as raw as it gets. */
  token(fields: Record<string, string>): Promise<{ status: number; body: Json }> {
    return this.post(this.server.token_endpoint, { client_id: this.client.client_id, ...fields });
  }

  refresh(refresh_token: string, extra: Record<string, string> = {}) {
    return this.token({ grant_type: 'refresh_token', refresh_token, ...extra });
  }

  async post(
    address: string | undefined,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ) {
    const body = new URLSearchParams(fields);
    const response = await fetch(String(address), { method: 'POST', body, headers });
    const text = await response.text();
    return { status: response.status, body: (text ? JSON.parse(text) : undefined) as Json };
  }

  /** Speaks to `/api` with an access token. */
  as(access_token: string): Client {
    return new Client(this.service.url, { authorization: `Bearer ${access_token}` });
  }
}

export async function signIn(browser: Browser, page: Visit, { email, password }: Person): Promise<Visit> {
  if (!page.html.includes('name="password"')) return page;
  return browser.submit(page, '/login', { email, password });
}

export function allow(
  browser: Browser,
  consent: Visit,
  fields: Record<string, string | string[]> = {},
): Promise<Visit> {
  return browser.submit(consent, '/consent', { decision: 'allow', level: 'all', reach: 'all', ...fields });
}
