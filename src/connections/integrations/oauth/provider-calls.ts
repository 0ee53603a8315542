import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { GuardedFetch, GuardedFetchError, retryAfterMs } from '#libs/guarded-fetch/index.js';
import {
  ClientRejected,
  GrantRejected,
  type HeldToken,
  type OAuthClient,
  ProviderFault,
  type RefreshedTokens,
  requestTokens,
  type TokenSet,
} from '../../stored-credentials/index.js';
import type { CredentialLimits } from '../providers/credential-limits.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { filledIn, textAt } from '../providers/provider.js';
import type { Account } from '../records/connections.store.js';
import { baseUrlOf, credentialHeader } from './credential.js';
import { appToken } from './github-app.js';

type Settings = Readonly<Record<string, string>>;
const REFUSALS = [401, 403];
const DAY_SECONDS = 86_400;
const TIMEOUT_MS = 15_000;

export interface Checked {
  readonly isAccepted: boolean;
  readonly status: number | null;
  readonly account: Account | null;
}

/** The requests that we make to providers ourselves. Throws ProviderFault, GrantRejected, ClientRejected. */
@Injectable()
export class ProviderCalls {
  constructor(private readonly outgoing: GuardedFetch) {}

  exchange(
    definition: ProviderDefinition,
    client: OAuthClient,
    returned: { code: string; verifier: string; redirectUri: string },
  ): Promise<RefreshedTokens> {
    const { code, verifier, redirectUri } = returned;
    const params = { code, redirect_uri: redirectUri, code_verifier: verifier };
    return this.tokens(definition, client, { grant_type: 'authorization_code', ...params });
  }

  refresh(
    definition: ProviderDefinition,
    client: OAuthClient,
    { refreshToken = '' }: TokenSet,
    signal: AbortSignal,
  ): Promise<RefreshedTokens> {
    const params = { grant_type: 'refresh_token', refresh_token: refreshToken };
    return this.tokens(definition, client, params, signal);
  }

  /** A token of an installation of a GitHub App, for all that it may, or for less. */
  async installationToken(
    definition: ProviderDefinition,
    { app_id = '', installation_id = '' }: Settings,
    privateKey: string,
    { limits, signal }: { limits?: CredentialLimits; signal?: AbortSignal } = {},
  ): Promise<RefreshedTokens> {
    const bearer = await appToken(app_id, privateKey);
    const path = `/app/installations/${encodeURIComponent(installation_id)}/access_tokens`;
    const url = below(definition.api.base_url, path);
    const headers = { ...definition.api.headers, authorization: `Bearer ${bearer}` };
    const asked = limits && limitsBody(limits);
    const { status, body } = await this.ask(url, {
      method: 'POST',
      signal,
      ...(asked ? { body: asked, headers: { ...headers, 'content-type': 'application/json' } } : { headers }),
    });
    const token = textAt(body, 'token');
    if (status === 404 || status === 410) throw new GrantRejected('The app is not installed there any more');
    if (status === 422 && limits) throw new ClientRejected(beyondInstallation(limits));
    if (!token) throw new ClientRejected(`GitHub did not take the app: it answered ${status}`);
    const expiresIn = Math.max(60, (Date.parse(textAt(body, 'expires_at') ?? '') - Date.now()) / 1000);
    return {
      accessToken: token,
      scopes: [],
      expiresIn: Number.isNaN(expiresIn) ? 3600 : expiresIn,
      isRenewable: true,
    };
  }

  /** Whether the provider takes a credential, and whose it is, as far as it says. */
  async check(definition: ProviderDefinition, settings: Settings, token: HeldToken): Promise<Checked> {
    const { identity, api } = definition;
    const { name, value } = credentialHeader(definition, settings, token);
    const headers = { accept: 'application/json', ...api.headers, [name]: value.reveal() };
    if (identity) {
      const { method = 'GET', body } = identity;
      const sent =
        body === undefined ? {} : { body, headers: { ...headers, 'content-type': 'application/json' } };
      const answer = await this.ask(new URL(filledIn(identity.url, settings)), { method, headers, ...sent });
      const isAccepted = !REFUSALS.includes(answer.status) && textAt(answer.body, 'error') === undefined;
      const id = isAccepted ? textAt(answer.body, identity.id) : undefined;
      const account = id === undefined ? null : { id, label: textAt(answer.body, identity.label) ?? id };
      // One that may do little, such as a restricted key, may not ask whose it is.
      if (account || api.probe === undefined) return { isAccepted, status: answer.status, account };
    }
    if (api.probe === undefined) return { isAccepted: true, status: null, account: null };
    const base = baseUrlOf(definition, settings);
    const { status } = await this.ask(below(base.href, api.probe), { headers });
    return { isAccepted: !REFUSALS.includes(status), status, account: null };
  }

  /** Takes the access back at the provider; false where it has no way to. */
  async revoke(
    definition: ProviderDefinition,
    client: OAuthClient | undefined,
    tokens: TokenSet,
  ): Promise<boolean> {
    const { revocation } = definition;
    if (definition.auth === 'github_app')
      return tokens.accessToken === '' || this.revokeInstallationToken(definition, tokens);
    if (!revocation) return false;
    const token = tokens.refreshToken ?? tokens.accessToken;
    const basic =
      client?.secret && `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`;
    const url = new URL(filledIn(revocation.url, { client_id: client?.id ?? '' }));
    const json = { accept: 'application/json', 'content-type': 'application/json' };
    const { status } = await (() => {
      switch (revocation.style) {
        case 'bearer':
          return this.ask(url, {
            method: 'POST',
            headers: { authorization: `Bearer ${tokens.accessToken}` },
          });
        case 'github':
          return this.ask(url, {
            method: 'DELETE',
            headers: { ...json, ...(basic && { authorization: basic }) },
            body: JSON.stringify({ access_token: tokens.accessToken }),
          });
        case 'json':
          return this.ask(url, {
            method: 'POST',
            headers: { ...json, ...(basic && { authorization: basic }) },
            body: JSON.stringify({ token: tokens.accessToken }),
          });
        case 'rfc7009': {
          const isBasic = client?.auth === 'basic';
          const shown = isBasic
            ? {}
            : { client_id: client?.id ?? '', ...(client?.secret && { client_secret: client.secret }) };
          return this.ask(url, {
            method: 'POST',
            headers: {
              'content-type': 'application/x-www-form-urlencoded',
              ...(isBasic && basic && { authorization: basic }),
            },
            body: new URLSearchParams({ token, ...shown }).toString(),
          });
        }
      }
    })();
    // What is unknown there is revoked.
    if (status >= 500 || status === 429)
      throw new ProviderFault(`${url.host} answered ${status} to the revocation`);
    return status < 400 || status === 404 || status === 401;
  }

  private async revokeInstallationToken(
    { api }: ProviderDefinition,
    { accessToken }: TokenSet,
  ): Promise<boolean> {
    const headers = { ...api.headers, authorization: `Bearer ${accessToken}` };
    await this.ask(below(api.base_url, '/installation/token'), { method: 'DELETE', headers });
    return true;
  }

  private tokens(
    definition: ProviderDefinition,
    client: OAuthClient,
    params: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<RefreshedTokens> {
    const { token_url: url = '', token_format: format, refresh } = definition;
    const asked = requestTokens(this.outgoing, { url, client, params, format, signal });
    const lifetime = refresh?.lifetime_days;
    if (lifetime === undefined) return asked;
    return asked.then(given => ({
      ...given,
      // It counts from this token on, if there is one.
      refreshExpiresIn: given.refreshExpiresIn ?? (given.refreshToken ? lifetime * DAY_SECONDS : undefined),
    }));
  }

  private async ask(url: URL, init: RequestInit): Promise<{ status: number; body: unknown }> {
    try {
      this.outgoing.refuseUnreachable(url);
      const response = await this.outgoing.fetch(url, { redirect: 'manual', timeoutMs: TIMEOUT_MS, ...init });
      const text = await response.text();
      const { status, headers } = response;
      if (status >= 500 || status === 429)
        throw new ProviderFault(`${url.host} answered ${status}`, retryAfterMs(headers));
      return { status, body: jsonIn(text) };
    } catch (error) {
      if (error instanceof ProviderFault) throw error;
      const why = error instanceof GuardedFetchError ? `: ${error.message}` : '';
      throw new ProviderFault(`${url.host} could not be reached${why}`);
    }
  }
}

/** What is left out there is not limited. */
const limitsBody = ({ repositories, permissions }: CredentialLimits): string =>
  JSON.stringify({
    ...(repositories.length > 0 && { repositories }),
    ...(Object.keys(permissions).length > 0 && { permissions }),
  });

function beyondInstallation({ repositories, permissions }: CredentialLimits): string {
  const levels = Object.entries(permissions).map(([name, level]) => `${name}: ${level}`);
  const asked = [
    ...(repositories.length > 0 ? [`the repositories ${repositories.join(', ')}`] : []),
    ...levels,
  ];
  return `The app is not installed for ${asked.join(' and ')}; add that to the installation at GitHub, or ask for less`;
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The API of a server of one's own may lie below a path, as that of GitHub Enterprise Server does. */
const below = (base: string, path: string): URL => new URL(base.replace(/\/$/, '') + path);
