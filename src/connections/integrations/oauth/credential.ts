import { Secret } from '../../../platform/vault/index.js';
import type { HeldToken } from '../../stored-credentials/index.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { filledIn } from '../providers/provider.js';

/** Authenticating header; revealed only where the request is sent. */
export interface CredentialHeader {
  readonly name: string;
  readonly value: Secret;
  /** Texts that no answer may hold in any of the forms of `SecretForms`. */
  readonly traces: readonly Secret[];
}

/** Servers of repositories take Basic authentication. */
export const GIT_HEADER = 'Authorization';

type Settings = Readonly<Record<string, string>>;

export function credentialHeader(
  { api }: ProviderDefinition,
  settings: Settings,
  token: HeldToken,
): CredentialHeader {
  const secrets = Object.fromEntries(
    Object.entries(token.values).map(([name, value]) => [name, value.reveal()]),
  );
  const access_token = token.accessToken.reveal();
  const { username = '', password = '' } = { ...settings, ...secrets };
  const basic = Buffer.from(`${username}:${password}`).toString('base64');
  const name = filledIn(api.header, settings);
  const value = filledIn(api.template, { ...settings, ...secrets, access_token, basic });
  const texts = [access_token, ...Object.values(secrets), ...(value.includes(basic) ? [basic] : [])];
  return { name, value: new Secret(value), traces: tracesOf(texts) };
}

const tracesOf = (texts: readonly string[]): Secret[] =>
  [...new Set(texts)].filter(text => text !== '').map(text => new Secret(text));

/** Basic credential for the host of the provider's repositories. */
export function gitCredential(
  definition: ProviderDefinition,
  settings: Settings,
  token: HeldToken,
): CredentialHeader {
  const secrets = Object.entries(token.values).map(([name, value]) => [name, value.reveal()] as const);
  const access_token = token.accessToken.reveal();
  const named = secrets.find(([name]) => name === 'password') ?? secrets.at(0);
  const password = access_token || (named?.[1] ?? '');
  const username = filledIn(definition.git?.username ?? '', settings);
  const basic = Buffer.from(`${username}:${password}`).toString('base64');
  return {
    name: GIT_HEADER,
    value: new Secret(`Basic ${basic}`),
    traces: tracesOf([password, access_token, basic, ...secrets.map(([, value]) => value)]),
  };
}

export const baseUrlOf = ({ api }: ProviderDefinition, settings: Settings): URL =>
  new URL(filledIn(api.base_url, settings));

export function listHosts(definition: ProviderDefinition, settings: Settings): string[] {
  const base = baseUrlOf(definition, settings).host;
  return [...new Set([base, ...definition.api.hosts.map(host => host.toLowerCase())])];
}
