/** What was wrong: the name itself, its not being listed, its port, where it leads, or that there was too much. */
export type RefusalReason =
  | 'host'
  | 'not_listed'
  | 'port'
  | 'address'
  | 'unresolved'
  | 'too_much'
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
