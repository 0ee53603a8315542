/**
 * What was wrong: the name itself, its not being listed, its port, where it leads, or that there was too much; of requests that get
 * a credential: their path, their method, that no rule permits them, the credential, or the server's certificate.
 */
export type RefusalReason =
  | 'host'
  | 'not_listed'
  | 'port'
  | 'address'
  | 'unresolved'
  | 'too_much'
  | 'path'
  | 'method'
  | 'rule'
  | 'credential'
  | 'tls'
  | 'request';

/** A connection that is not made; the message is meant for the requester. */
export class EgressRefusal extends Error {
  override readonly name = 'EgressRefusal';

  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
  }
}
