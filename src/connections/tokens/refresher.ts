import type { TokenSet } from './token-set.js';

/** What a provider answered. What it left out stays as it was. */
export type RefreshedTokens = Pick<TokenSet, 'accessToken'> & Partial<TokenSet>;

/** How the tokens of one kind of owner are renewed; each registers one with `Tokens.register`. */
export interface Refresher {
  /**
   * Asks the provider for new tokens, once. Throws {@link GrantRejected} where the grant is over, {@link ClientRejected}
   * where the provider does not take us, {@link ProviderFault} for what passes; anything else counts as that, too.
   */
  refresh(id: string, current: TokenSet, signal: AbortSignal): Promise<RefreshedTokens>;
  /** Whether the provider still takes tokens that cannot be renewed; asked after it rejected them once. */
  accepts?(id: string, current: TokenSet, signal: AbortSignal): Promise<boolean>;
}

/** The grant is over: it ran out, was revoked, or a rotated token was used again. */
export class GrantRejected extends Error {}

/** The provider does not take the client or the request; a person has to look at the settings. */
export class ClientRejected extends Error {}

/** The provider cannot be reached, or fails: it is asked again later. */
export class ProviderFault extends Error {
  constructor(
    message: string,
    /** How long it asks to wait. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}
