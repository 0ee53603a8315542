import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { Signals } from '../../../platform/topics/index.js';

/** Requests that clients take back while another process works on them. */
@Injectable()
export class Cancellations {
  constructor(
    private readonly database: Database,
    private readonly signals: Signals,
  ) {}

  /** Aborted when the client of the session takes the request back; nothing without a session, or after `forget`. */
  of(sessionId: string | undefined, requestId: unknown): { signal: AbortSignal; forget: () => void } {
    const taken = new AbortController();
    if (sessionId === undefined) return { signal: taken.signal, forget: () => undefined };
    const forget = this.signals.subscribe(topicOf(sessionId, requestId), () => taken.abort());
    return { signal: taken.signal, forget };
  }

  async cancel(sessionId: string, requestId: unknown): Promise<void> {
    await this.database.transaction(unit => this.signals.notify(unit, topicOf(sessionId, requestId)));
  }
}

/** Ids of requests are the client's, and may be of any length; `1` and `"1"` are two. */
function topicOf(sessionId: string, requestId: unknown): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(requestId) ?? '')
    .digest('base64url');
  return `mcp-cancel:${sessionId}:${digest}`;
}
