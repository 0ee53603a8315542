import { type GuardedFetch, GuardedFetchError, retryAfterMs } from '#libs/guarded-fetch/index.js';
import { ClientRejected, GrantRejected, ProviderFault, type RefreshedTokens } from './refresher.js';

/** Who we are to an authorization server (RFC 6749, 2.3). */
export interface OAuthClient {
  readonly id: string;
  readonly secret?: string;
  /** `none`: a public client. */
  readonly auth: 'basic' | 'post' | 'none';
}

export interface TokenRequest {
  readonly url: string;
  readonly client: OAuthClient;
  readonly params: Readonly<Record<string, string>>;
  /** How the request is written; a form, as the standard says, unless the provider wants JSON. */
  readonly format?: 'form' | 'json';
  readonly signal?: AbortSignal;
}

/** What providers call a grant that is over; the first is the standard's. */
const GRANT_ERRORS = [
  'invalid_grant',
  'bad_refresh_token',
  'bad_verification_code',
  'invalid_refresh_token',
  'invalid_code',
  'code_already_used',
  'token_revoked',
  'token_expired',
  'expired_token',
];

/** A request to a token endpoint (RFC 6749, 3.2). Throws GrantRejected, ClientRejected, ProviderFault. */
export async function requestTokens(outgoing: GuardedFetch, request: TokenRequest): Promise<RefreshedTokens> {
  const { status, headers, body } = await answerTo(outgoing, request);
  const host = new URL(request.url).host;
  if (status >= 500 || status === 429)
    throw new ProviderFault(`${host} answered ${status} when asked for tokens`, retryAfterMs(headers));
  const error = errorIn(body);
  if (error !== undefined && GRANT_ERRORS.includes(error))
    throw new GrantRejected(`${host} answered ${error}`);
  if (error !== undefined) throw new ClientRejected(`${host} answered ${error} when asked for tokens`);
  if (status >= 400) throw new ClientRejected(`${host} answered ${status} when asked for tokens`);
  const tokens = status < 300 && body ? tokensIn(body) : undefined;
  if (!tokens) throw new ProviderFault(`${host} gave an answer without tokens (${status})`);
  return tokens;
}

async function answerTo(outgoing: GuardedFetch, request: TokenRequest) {
  const { url, client, format = 'form', signal } = request;
  const params: Record<string, string> = { ...request.params };
  const headers: Record<string, string> = { accept: 'application/json' };
  if (client.auth === 'basic') headers.authorization = basicAuth(client);
  else {
    params.client_id = client.id;
    if (client.auth === 'post' && client.secret !== undefined) params.client_secret = client.secret;
  }
  headers['content-type'] = format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  const body = format === 'json' ? JSON.stringify(params) : new URLSearchParams(params).toString();
  try {
    outgoing.refuseUnreachable(new URL(url));
    const sent = { method: 'POST', headers, body, signal, redirect: 'manual' } as const;
    const response = await outgoing.fetch(url, sent);
    return { status: response.status, headers: response.headers, body: jsonIn(await response.text()) };
  } catch (error) {
    throw new ProviderFault(`${new URL(url).host} could not be asked for tokens${explain(error)}`);
  }
}

/** Both parts are encoded as in a form before they are joined (RFC 6749, 2.3.1). */
const basicAuth = ({ id, secret = '' }: OAuthClient): string => {
  const pair = [id, secret].map(part => encodeURIComponent(part).replaceAll('%20', '+')).join(':');
  return `Basic ${Buffer.from(pair).toString('base64')}`;
};

const explain = (error: unknown): string => (error instanceof GuardedFetchError ? `: ${error.message}` : '');

function jsonIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Some answer 200 all the same. Only what looks like a code is repeated to people. */
function errorIn(body: Record<string, unknown> | undefined): string | undefined {
  if (!body || (body.error === undefined && body.ok !== false)) return undefined;
  return typeof body.error === 'string' && /^[a-z_]{1,60}$/.test(body.error) ? body.error : 'an error';
}

function tokensIn(body: Record<string, unknown>): RefreshedTokens | undefined {
  const { access_token, refresh_token, scope } = body;
  if (typeof access_token !== 'string' || access_token === '') return undefined;
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined,
    scopes: typeof scope === 'string' ? scope.split(/[\s,]+/).filter(Boolean) : undefined,
    expiresIn: seconds(body.expires_in),
    refreshExpiresIn: seconds(body.refresh_token_expires_in ?? body.refresh_expires_in),
  };
}

function seconds(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : undefined;
}
