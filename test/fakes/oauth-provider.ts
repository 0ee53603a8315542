import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';

interface Grant {
  readonly account: string;
  readonly scope: string;
  access: string;
  refresh: string;
  expiresAt: number;
  isRevoked: boolean;
  /** Refresh tokens that were used. */
  readonly used: Set<string>;
}

interface Code {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly account: string;
  readonly scope: string;
  isUsed: boolean;
}

/** How the token endpoint answers instead. */
type Fault = { status: number; body?: unknown } | 'hang' | undefined;

/** A request that came to the API, or to the token endpoint. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** How `/api/echo/in?form=` repeats a header, and the coding that it names. */
const ECHOES = {
  hex: text => [Buffer.from(text).toString('hex')],
  entities: text => [[...text].map(letter => `&#${letter.charCodeAt(0)};`).join('')],
  escapes: text => [[...text].map(letter => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')],
  percent: text => [[...text].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('')],
  base64url: text => [Buffer.from(`{"é?>":"${text}"}`).toString('base64url')],
  gzip: text => [gzipSync(text), 'gzip'],
  zstd: text => [zstdCompressSync(text), 'zstd'],
  own: text => [text.split('').reverse().join(''), 'x-own'],
} satisfies Record<string, (text: string) => [string | Buffer, string?]>;

/**
 * An authorization server and an API behind it, as strict as the standards allow: it checks the client, the redirect address,
 * PKCE and that a code is used once; with rotation, a refresh token that comes again ends the grant.
 */
export class FakeOAuthProvider {
  readonly clientId = 'client-of-atelier';
  readonly clientSecret = `secret/of+atelier ${randomUUID()}`;
  /** Who is signed in there. */
  account = 'octocat';
  /** Of the account, as JSON has it; by default a text. */
  accountId: unknown;
  /** It is not asked; false: no. */
  consents = true;
  rotates = true;
  expiresIn: number | undefined = 3600;
  refreshExpiresIn: number | undefined;
  /** What it says that it is (RFC 9207); undefined: nothing. */
  iss: string | undefined;
  clientAuth: 'basic' | 'post' = 'post';
  fault: Fault;
  delayMs = 0;
  redirectUris: string[] = [];
  readonly tokenRequests: Asked[] = [];
  readonly apiRequests: Asked[] = [];
  readonly revoked: string[] = [];
  readonly grants: Grant[] = [];
  private readonly codes = new Map<string, Code>();
  private readonly waiting = new Set<() => void>();

  private constructor(private server: Server) {}

  static async start(): Promise<FakeOAuthProvider> {
    const provider: FakeOAuthProvider = new FakeOAuthProvider(
      createServer((request, response) => void provider.answer(request, response)),
    );
    await new Promise<void>(resolve => provider.server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** As an organization describes it. */
  definition(id: string, changes: object = {}) {
    return {
      id,
      name: 'Acme',
      docs: 'https://acme.example.com/docs',
      auth: 'oauth2',
      authorize_url: `${this.url}/authorize`,
      token_url: `${this.url}/token`,
      revocation: { url: `${this.url}/revoke`, style: 'rfc7009' },
      scopes_default: ['read'],
      scopes_available: ['read', 'write'],
      client_auth: this.clientAuth,
      identity: { url: `${this.url}/user`, id: 'id', label: 'login' },
      api: {
        base_url: `${this.url}/api`,
        hosts: [this.host],
        header: 'Authorization',
        template: 'Bearer {access_token}',
      },
      ...changes,
    };
  }

  /** Resolves when the token endpoint has been asked so often. */
  async asked(count: number): Promise<void> {
    while (this.tokenRequests.length < count)
      await new Promise<void>(resolve => {
        this.waiting.add(resolve);
      });
  }

  /** What the secrets are that nobody else may see. */
  get secrets(): string[] {
    return [
      this.clientSecret,
      ...this.grants.flatMap(({ access, refresh, used }) => [access, refresh, ...used]),
    ];
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    let body = '';
    for await (const chunk of request) body += chunk;
    const asked = {
      method: request.method ?? '',
      path: url.pathname + url.search,
      headers: request.headers,
      body,
    };
    const json = (status: number, value: unknown, headers = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    if (url.pathname === '/authorize') return void this.authorize(url, response);
    if (url.pathname === '/token') return this.token(asked, json);
    if (url.pathname === '/revoke') {
      const token = new URLSearchParams(body).get('token') ?? '';
      this.revoked.push(token);
      for (const grant of this.grants)
        if ([grant.access, grant.refresh].includes(token)) grant.isRevoked = true;
      return void json(200, {});
    }
    this.apiRequests.push(asked);
    const grant = this.grants.find(
      each =>
        request.headers.authorization === `Bearer ${each.access}` &&
        !each.isRevoked &&
        each.expiresAt > Date.now(),
    );
    const isKey = request.headers['x-api-key'] === 'key-that-is-good';
    if (!grant && !isKey) return void json(401, { error: 'invalid_token' });
    if (url.pathname === '/user')
      return void json(200, { id: this.accountId ?? `id-of-${grant?.account}`, login: grant?.account });
    if (url.pathname === '/api/echo/in') {
      const form = url.searchParams.get('form') as keyof typeof ECHOES;
      const [echoed, encoding] = ECHOES[form](String(request.headers.authorization));
      const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
      return void response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(echoed);
    }
    if (url.pathname === '/api/echo') return void json(200, { you_sent: request.headers });
    if (url.pathname === '/api/header')
      return void response.writeHead(200, { 'x-echo': String(request.headers.authorization) }).end();
    if (url.pathname === '/api/moved')
      return void response.writeHead(302, { location: `${this.url}/api/items` }).end();
    if (url.pathname === '/api/mirror')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    if (url.pathname === '/api/large') return void response.end('x'.repeat(1024 * 1024 + 1));
    if (url.pathname === '/api/bytes') return void response.end(Buffer.from([0, 255, 128]));
    json(200, { items: [1], method: request.method, query: url.search, body });
  }

  private authorize({ searchParams: query }: URL, response: ServerResponse): ServerResponse {
    const redirectUri = query.get('redirect_uri') ?? '';
    const refuse = (why: string) => response.writeHead(400, { 'content-type': 'text/plain' }).end(why);
    if (query.get('client_id') !== this.clientId) return refuse('another client');
    if (!this.redirectUris.includes(redirectUri)) return refuse(`${redirectUri} is not registered`);
    if (query.get('response_type') !== 'code') return refuse('not the code flow');
    if (
      query.get('code_challenge_method') !== 'S256' ||
      !/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')
    )
      return refuse('no PKCE');
    if (!/^[\w-]{43}$/.test(query.get('state') ?? '')) return refuse('no state');
    const back = new URL(redirectUri);
    back.searchParams.set('state', query.get('state') ?? '');
    if (this.iss !== undefined) back.searchParams.set('iss', this.iss);
    if (!this.consents) back.searchParams.set('error', 'access_denied');
    else {
      const code = randomUUID();
      const challenge = query.get('code_challenge') ?? '';
      const scope = query.get('scope') ?? '';
      this.codes.set(code, { redirectUri, challenge, account: this.account, scope, isUsed: false });
      back.searchParams.set('code', code);
    }
    return response.writeHead(303, { location: back.href }).end();
  }

  private async token(asked: Asked, json: (status: number, value: unknown) => void): Promise<void> {
    this.tokenRequests.push(asked);
    for (const wake of this.waiting) wake();
    this.waiting.clear();
    if (this.delayMs > 0) await sleep(this.delayMs);
    if (this.fault === 'hang') return;
    if (this.fault) return json(this.fault.status, this.fault.body ?? {});
    const form = new URLSearchParams(asked.body);
    if (!this.isClient(asked, form)) return json(401, { error: 'invalid_client' });
    const grant =
      form.get('grant_type') === 'authorization_code'
        ? this.redeem(form)
        : this.refreshed(form.get('refresh_token'));
    if (!grant) return json(400, { error: 'invalid_grant' });
    json(200, {
      access_token: grant.access,
      token_type: 'Bearer',
      scope: grant.scope,
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn, refresh_token: grant.refresh }),
      ...(this.refreshExpiresIn !== undefined && { refresh_token_expires_in: this.refreshExpiresIn }),
    });
  }

  private isClient({ headers }: Asked, form: URLSearchParams): boolean {
    if (this.clientAuth === 'post')
      return form.get('client_id') === this.clientId && form.get('client_secret') === this.clientSecret;
    const [, pair = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
    const [id = '', secret = ''] = Buffer.from(pair, 'base64')
      .toString()
      .split(':')
      .map(part => new URLSearchParams(`x=${part}`).get('x') ?? '');
    return !form.has('client_secret') && id === this.clientId && secret === this.clientSecret;
  }

  private redeem(form: URLSearchParams): Grant | undefined {
    const code = this.codes.get(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!code || code.isUsed || code.redirectUri !== form.get('redirect_uri') || code.challenge !== challenge)
      return undefined;
    code.isUsed = true;
    const grant = { account: code.account, scope: code.scope, used: new Set<string>(), isRevoked: false };
    this.grants.push({ ...grant, ...this.pair() });
    return this.grants.at(-1);
  }

  private refreshed(token: string | null): Grant | undefined {
    const grant = this.grants.find(({ refresh, used }) => refresh === token || used.has(token ?? ''));
    if (!grant || grant.isRevoked) return undefined;
    if (grant.used.has(token ?? '')) {
      grant.isRevoked = true;
      return undefined;
    }
    const { refresh } = grant;
    Object.assign(grant, this.pair());
    if (this.rotates) grant.used.add(refresh);
    else grant.refresh = refresh;
    return grant;
  }

  private pair() {
    const expiresAt = Date.now() + (this.expiresIn ?? 1e9) * 1000;
    return { access: `access-${randomUUID()}`, refresh: `refresh-${randomUUID()}`, expiresAt };
  }
}
