import { Secret } from '../../platform/vault/index.js';

/** Tokens and other secrets, as a provider or a person gave them. They are kept in the vault and nowhere else. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Other secrets that requests or renewals need, e.g. what a person typed. */
  readonly values?: Readonly<Record<string, string>>;
  /** Known to everyone who sees the owner. */
  readonly scopes: readonly string[];
  /** Seconds until the access token ends; absent: it does not. */
  readonly expiresIn?: number;
  /** Seconds until the refresh token ends, where that is known. */
  readonly refreshExpiresIn?: number;
  /** It can be renewed without a refresh token, by what is in `values`. */
  readonly isRenewable?: boolean;
  /** It is renewed when it is used, and never before. */
  readonly isOnDemand?: boolean;
}

/** A token for a request that is being sent. It is revealed there and nowhere else. */
export interface HeldToken {
  readonly accessToken: Secret;
  readonly values: Readonly<Record<string, Secret>>;
  readonly scopes: readonly string[];
  readonly revision: number;
}

interface Kept {
  access_token: string;
  refresh_token?: string;
  values?: Record<string, string>;
}

export const encode = ({ accessToken, refreshToken, values }: TokenSet): string =>
  JSON.stringify({
    access_token: accessToken,
    refresh_token: refreshToken,
    values: values && { ...values },
  } satisfies Kept);

export function decode(secret: Secret, scopes: readonly string[]): TokenSet {
  const kept = JSON.parse(secret.reveal()) as Kept;
  return { accessToken: kept.access_token, refreshToken: kept.refresh_token, values: kept.values, scopes };
}

export function hold({ accessToken, values = {}, scopes }: TokenSet, revision: number): HeldToken {
  const held = Object.entries(values).map(([name, value]) => [name, new Secret(value)]);
  return { accessToken: new Secret(accessToken), values: Object.fromEntries(held), scopes, revision };
}

/** The tokens that follow: what the provider left out stays. */
export const renewed = (current: TokenSet, given: Partial<TokenSet>): TokenSet => ({
  accessToken: given.accessToken ?? current.accessToken,
  refreshToken: given.refreshToken ?? current.refreshToken,
  values: given.values ?? current.values,
  scopes: given.scopes ?? current.scopes,
  expiresIn: given.expiresIn,
  refreshExpiresIn: given.refreshExpiresIn,
  isRenewable: given.isRenewable,
  isOnDemand: given.isOnDemand,
});
