import { GIT_HEADER } from '../oauth/credential.js';
import type { GrantedConnection } from './granted-connections.js';

/** Where a connection's credential goes: one header of one host, for its API, for its repositories, or for both. */
export interface CredentialPlace {
  readonly host: string;
  readonly port: number;
  readonly header: string;
  readonly services: readonly ('api' | 'git')[];
  /** What its paths of the API are below, as grants name them without it; empty: nothing. */
  readonly base: string;
}

type Described = Pick<GrantedConnection, 'hosts' | 'base_url' | 'header' | 'git'>;

/** Credentials go over TLS alone, so what is reached without has none. */
export function listPlaces({ hosts, base_url, header, git }: Described): CredentialPlace[] {
  const base = new URL(base_url);
  const api = base.protocol === 'https:' ? hosts : [];
  const places = api.map(
    (host): CredentialPlace => ({
      ...splitHost(host),
      header,
      services: ['api'],
      base: host === base.host ? base.pathname.replace(/\/$/, '') : '',
    }),
  );
  for (const host of git?.hosts ?? []) {
    const { name, place } = {
      name: nameOf({ ...splitHost(host), header: GIT_HEADER }),
      place: splitHost(host),
    };
    const at = places.findIndex(each => nameOf(each) === name);
    const shared = places[at];
    if (shared) places[at] = { ...shared, services: ['api', 'git'] };
    else places.push({ ...place, header: GIT_HEADER, services: ['git'], base: '' });
  }
  return places;
}

/** The same for two places: one header of one host. Servers may take `_` for `-`. */
export const nameOf = ({ host, port, header }: Pick<CredentialPlace, 'host' | 'port' | 'header'>): string =>
  `${header.toLowerCase().replaceAll('_', '-')} of ${host}:${port}`;

function splitHost(text: string): { host: string; port: number } {
  const { hostname, port } = new URL(`https://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
}
