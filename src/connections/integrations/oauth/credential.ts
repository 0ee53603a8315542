import { Secret } from '../../../platform/vault/index.js';
import type { HeldToken } from '../../tokens/index.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { filledIn } from '../providers/provider.js';

/** The header that lets a request in. It is revealed where the request is sent. */
export interface CredentialHeader {
  readonly name: string;
  readonly value: Secret;
  /** Texts that no answer may hold: the credential itself, in the forms that servers send it back in. */
  readonly traces: readonly Secret[];
}

/** Shorter ones are found by chance. */
const SHORTEST_TRACE = 6;

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
  const forms = texts.flatMap(text => [
    text,
    encodeURIComponent(text),
    Buffer.from(text).toString('base64'),
    text.replaceAll('/', '\\/'),
  ]);
  const traces = [...new Set(forms)].filter(text => text.length >= SHORTEST_TRACE);
  return { name, value: new Secret(value), traces: traces.map(text => new Secret(text)) };
}

/** What requests go below. */
export const baseUrlOf = ({ api }: ProviderDefinition, settings: Settings): URL =>
  new URL(filledIn(api.base_url, settings));

/** Hosts, with their ports, that get the credential. */
export function hostsOf(definition: ProviderDefinition, settings: Settings): string[] {
  const base = baseUrlOf(definition, settings).host;
  return [...new Set([base, ...definition.api.hosts.map(host => host.toLowerCase())])];
}
