import type { Configuration } from 'oidc-provider';
import type { KeyRing } from '../keys/key-ring.js';
import type { OAuthResources } from '../scopes/resources.js';

/** What the authorization server is made of. */
export interface ProviderParts {
  readonly resources: OAuthResources;
  readonly keys: KeyRing;
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly fetch: NonNullable<Configuration['fetch']>;
  /** The first signs, all of them verify. */
  readonly cookieKeys: string[];
  readonly sessionSeconds: number;
  /** Whether the client at work may have its metadata document fetched. */
  readonly admitDocument: () => Promise<boolean>;
  /** Whether the sign-in that a browser session stands on goes on. */
  readonly isSignedIn: (accountId: string, signIn: string | undefined) => Promise<boolean>;
  readonly accountExists: (accountId: string) => Promise<boolean>;
  /** The API key that the request at work authenticated with as a service account. */
  readonly keyOfRequest: (request: object) => string | undefined;
}
