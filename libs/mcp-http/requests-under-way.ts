import { createHash } from 'node:crypto';
import type { Cancellations } from './ports.js';

/** Requests of sessions that are worked on, in whichever process: their clients may take them back. */
export class RequestsUnderWay {
  constructor(private readonly cancellations: Cancellations) {}

  /** Aborted when the client of the session takes the request back; nothing without a session, or after `forget`. */
  begin(sessionId: string | undefined, requestId: unknown): { signal: AbortSignal; forget: () => void } {
    const taken = new AbortController();
    if (sessionId === undefined) return { signal: taken.signal, forget: () => undefined };
    const forget = this.cancellations.onCancel(nameOf(sessionId, requestId), () => taken.abort());
    return { signal: taken.signal, forget };
  }

  cancel(sessionId: string, requestId: unknown): Promise<void> {
    return this.cancellations.cancel(nameOf(sessionId, requestId));
  }
}

/** Ids of requests are the client's, and may be of any length; `1` and `"1"` are two. */
function nameOf(sessionId: string, requestId: unknown): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(requestId) ?? '')
    .digest('base64url');
  return `${sessionId}:${digest}`;
}
