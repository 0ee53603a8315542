import { AnswerEncoded, SecretEchoed } from './inspection/echo-gate.js';
import { EgressRefusal, type RefusalReason } from './refusal.js';

/** Why there is no connection; else the error itself. */
export function causeOf(error: unknown): unknown {
  const { cause } = error as Error;
  return cause instanceof EgressRefusal ? cause : error;
}

const OF_THE_SERVER: readonly RefusalReason[] = ['unresolved', 'tls'];

/** A fault of the forwarder has a status and a sentence of its own. */
export function answerOf(error: unknown): [number, string] {
  if (error instanceof EgressRefusal)
    return [OF_THE_SERVER.includes(error.reason) ? 502 : 403, error.message];
  if (error instanceof SecretEchoed || error instanceof AnswerEncoded) return [502, error.message];
  const { status, message } = error as { status?: unknown; message?: unknown };
  if (typeof status === 'number' && typeof message === 'string')
    return [status === 499 ? 502 : status, message];
  return [502, 'The request could not be sent on'];
}
