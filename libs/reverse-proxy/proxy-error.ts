/**
 * What went wrong: `connect` (the upstream cannot be reached), `timeout` (no answer in time), `closed` (it closed the
 * connection too early), `invalid` (its answer breaks RFC 9112), `aborted` (the caller of the proxy ended the exchange, or the
 * client went away), `request` (the request itself cannot be forwarded).
 */
export type ProxyFault = 'connect' | 'timeout' | 'closed' | 'invalid' | 'aborted' | 'request';

const STATUS: Record<ProxyFault, number> = {
  connect: 502,
  timeout: 504,
  closed: 502,
  invalid: 502,
  aborted: 499,
  request: 400,
};

/** An exchange that failed. Where nothing of an answer was sent, the caller may still send `status` and a page of its own. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';

  constructor(
    readonly fault: ProxyFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  get status(): number {
    return STATUS[this.fault];
  }
}
