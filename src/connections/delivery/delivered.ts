import { EgressRefusal, normalizePrefix } from '#libs/egress-proxy/index.js';
import {
  apiPath,
  type CredentialPlace,
  type GrantedConnection,
  listPlaces,
  METHODS,
} from '../integrations/index.js';

/** Rule that requests of a sandbox match to get the credential of a connection. */
export interface Delivered extends CredentialPlace {
  /** Changes with every change of the rule. */
  readonly key: string;
  readonly connection: GrantedConnection;
  readonly methods: readonly string[];
  readonly paths: readonly string[];
  readonly limits: GrantedConnection['limits'];
}

/** The smart HTTP protocol of git, and the API of its large files. */
const GIT_PATH = /\/(?:info\/refs|git-(?:upload|receive)-pack|info\/lfs(?:\/.*)?)$/;

/** Rules of a connection. Grants name paths of the API below its base address, and others in full. */
export function deliveredBy(connection: GrantedConnection): Delivered[] {
  return listPlaces(connection).map(place => {
    const methods = connection.methods.length > 0 ? connection.methods : METHODS;
    const granted = connection.paths.length > 0 ? connection.paths : ['/'];
    const paths = new Set<string>();
    for (const path of granted) {
      if (place.services.includes('api')) add(paths, apiPath(place.base, path));
      if (place.services.includes('git')) add(paths, path);
    }
    const { id, state, limits } = connection;
    const key = JSON.stringify([id, state, place, methods, [...paths], limits]);
    return { ...place, key, connection, methods, paths: [...paths], limits };
  });
}

/** Chooses the credential for a path, where the API and the repositories share a host. */
export function chooseService({ services, base }: CredentialPlace, path: string): 'api' | 'git' {
  const [only] = services;
  if (services.length === 1 && only) return only;
  const isOfApi = base !== '' && path.startsWith(`${base}/`);
  return GIT_PATH.test(path) && !isOfApi ? 'git' : 'api';
}

/** Skips paths that servers could read in two ways. */
function add(paths: Set<string>, path: string): void {
  try {
    paths.add(normalizePrefix(path));
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
  }
}
