/**
 * What went wrong with a model call, in the terms a run needs:
 * `aborted` is the caller's own signal; `refused` is a request that the provider's content policy turned down;
 * `overloaded` covers every failure on the provider's side (5xx, 529).
 */
export type ModelErrorKind =
  | 'auth'
  | 'not_found'
  | 'rate_limited'
  | 'overloaded'
  | 'context_length'
  | 'refused'
  | 'bad_request'
  | 'timeout'
  | 'network'
  | 'aborted'
  | 'unknown';

const RETRYABLE: ReadonlySet<ModelErrorKind> = new Set(['rate_limited', 'overloaded', 'timeout', 'network']);

/** A model call that failed. `message` is one sentence a person can act on and never holds a key. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** HTTP status, where there was one. */
  readonly status?: number;
  /** How long the provider asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;

  constructor(
    kind: ModelErrorKind,
    message: string,
    details: { retryable?: boolean; status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.retryable = details.retryable ?? RETRYABLE.has(kind);
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}
