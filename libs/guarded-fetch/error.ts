/** Why a request was refused or given up: each is about the address or what stands there, never about our own code. */
export type Refusal = 'address' | 'scheme' | 'redirects' | 'size' | 'time';

/** A request that may not be made, or whose answer is too much; the message is fit to be shown. */
export class GuardedFetchError extends Error {
  constructor(
    readonly refusal: Refusal,
    message: string,
  ) {
    super(message);
    this.name = 'GuardedFetchError';
  }
}
