import { Conflict, Unavailable } from '../../platform/errors/index.js';
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

export const isProviderProblem = (error: unknown): error is Error =>
  error instanceof GrantRejected || error instanceof ClientRejected || error instanceof ProviderFault;

/** Turns what a provider failed with into the problem that a person reads. */
export async function asProblem<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderFault) throw new Unavailable(`${error.message}; try again later`);
    if (isProviderProblem(error)) throw new Conflict(error.message);
    throw error;
  }
}
