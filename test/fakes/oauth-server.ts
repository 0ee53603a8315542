import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Grant {
  readonly client: string;
  readonly resource: string | null;
  readonly scope: string;
  isRevoked: boolean;
}

/** An authorization server (RFC 6749, 7591, 8414, 9207) with one consenting person, whose refresh tokens rotate. */
export class FakeAuthorizationServer {
  /** What it says of itself, beside the endpoints. */
  metadata: Record<string, unknown> = {};
  expiresIn = 3600;
  /** Every request to the token endpoint that was answered. */
  readonly tokenRequests: Record<string, string>[] = [];
  readonly registrations: Record<string, unknown>[] = [];
  /** How often a refresh token was shown that had been used before. */
  reused = 0;
  private readonly codes = new Map<string, { grant: Grant; challenge: string; redirect: string }>();
  private readonly access = new Map<string, { grant: Grant; until: number }>();
  private readonly refresh = new Map<string, { grant: Grant; isUsed: boolean }>();
  private readonly http: Server;

  private constructor() {
    this.http = createServer((request, response) => void this.answer(request, response));
  }

  static async start(): Promise<FakeAuthorizationServer> {
    const server = new FakeAuthorizationServer();
    await new Promise<void>(resolve => server.http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get host(): string {
    return `127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get issuer(): string {
    return `http://${this.host}`;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise(resolve => this.http.close(resolve));
  }

  /** Whether a request shows a token that is good for this resource. */
  admits({ headers }: Pick<IncomingMessage, 'headers'>, resource: string): boolean {
    const found = this.access.get(headers.authorization?.replace(/^Bearer /, '') ?? '');
    return (
      found !== undefined &&
      !found.grant.isRevoked &&
      found.until > Date.now() &&
      found.grant.resource === resource
    );
  }

  /** All access tokens end now. */
  expire(): void {
    this.access.clear();
  }

  /** The person takes back all that they allowed. */
  revoke(): void {
    for (const { grant } of this.refresh.values()) grant.isRevoked = true;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.issuer);
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/.well-known/oauth-authorization-server') return void send(200, this.describe());
    if (url.pathname === '/register') return void send(201, this.register(JSON.parse(await bodyOf(request))));
    if (url.pathname === '/authorize') return this.authorize(url.searchParams, response);
    if (url.pathname !== '/token') return void send(404, {});
    const { status, body } = this.token(Object.fromEntries(new URLSearchParams(await bodyOf(request))));
    send(status, body);
  }

  private describe(): Record<string, unknown> {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    };
  }

  private register(asked: Record<string, unknown>): Record<string, unknown> {
    this.registrations.push(asked);
    return { ...asked, client_id: `client-${this.registrations.length}` };
  }

  private authorize(asked: URLSearchParams, response: ServerResponse): void {
    const code = randomUUID();
    const [client = '', redirect = '', challenge = ''] = ['client_id', 'redirect_uri', 'code_challenge'].map(
      name => asked.get(name) ?? '',
    );
    const grant = {
      client,
      resource: asked.get('resource'),
      scope: asked.get('scope') ?? '',
      isRevoked: false,
    };
    this.codes.set(code, { grant, challenge, redirect });
    const back = new URL(redirect);
    back.searchParams.set('code', code);
    back.searchParams.set('state', asked.get('state') ?? '');
    back.searchParams.set('iss', this.issuer);
    response.writeHead(302, { location: back.href }).end();
  }

  private token(asked: Record<string, string>): { status: number; body: Record<string, unknown> } {
    this.tokenRequests.push(asked);
    const refused = { status: 400, body: { error: 'invalid_grant' } };
    if (asked.grant_type === 'authorization_code') {
      const found = this.codes.get(asked.code ?? '');
      this.codes.delete(asked.code ?? '');
      const challenge = createHash('sha256')
        .update(asked.code_verifier ?? '')
        .digest('base64url');
      const isRight = found?.challenge === challenge && found.redirect === asked.redirect_uri;
      return found && isRight && found.grant.client === asked.client_id ? this.issue(found.grant) : refused;
    }
    const shown = this.refresh.get(asked.refresh_token ?? '');
    if (!shown || shown.grant.isRevoked) return refused;
    if (shown.isUsed) {
      // Used twice: somebody else may have it.
      this.reused++;
      shown.grant.isRevoked = true;
      return refused;
    }
    shown.isUsed = true;
    return this.issue(shown.grant);
  }

  private issue(grant: Grant): { status: number; body: Record<string, unknown> } {
    const [access_token, refresh_token] = [`at-${randomUUID()}`, `rt-${randomUUID()}`];
    this.access.set(access_token, { grant, until: Date.now() + this.expiresIn * 1000 });
    this.refresh.set(refresh_token, { grant, isUsed: false });
    const { scope } = grant;
    return {
      status: 200,
      body: { access_token, refresh_token, token_type: 'Bearer', expires_in: this.expiresIn, scope },
    };
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
