import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../database/index.js';
import { TooManyRequests } from '../errors/index.js';

/** What is kept for one credential at most. */
export const MAX_KEPT_REQUESTS = 100_000;
export const MAX_KEPT_BYTES = 128 * 1024 * 1024;
/** How long a count is good; a credential that is at its limit is counted again after this time. */
const FRESH_MS = 30_000;

interface Usage {
  readonly requests: number;
  readonly bytes: number;
  /** Seconds until the oldest is forgotten. */
  readonly oldestSeconds: number;
}

interface Measured {
  readonly usage: Promise<Usage>;
  readonly freshUntil: number;
  /** Admitted by this process since. */
  admitted: number;
}

/**
 * Bounds what is kept of the requests of one credential. Rows are counted now and then, as counting with each request
 * would cost more than the request: processes together may go beyond the limit by what they admit in that time.
 */
@Injectable()
export class IdempotencyRoom {
  private readonly measured = new Map<string, Measured>();

  constructor(private readonly database: Database) {}

  /** The refusal of a request with a new key, where the credential has no room for one more answer. */
  async refusalFor(credentialId: string): Promise<TooManyRequests | undefined> {
    const measured = this.of(credentialId);
    const { requests, bytes, oldestSeconds } = await measured.usage;
    if (requests + measured.admitted >= MAX_KEPT_REQUESTS || bytes >= MAX_KEPT_BYTES)
      return noRoom(oldestSeconds);
    measured.admitted++;
    return undefined;
  }

  private of(credentialId: string): Measured {
    const now = Date.now();
    const known = this.measured.get(credentialId);
    if (known && known.freshUntil > now) return known;
    for (const [id, { freshUntil }] of this.measured) if (freshUntil <= now) this.measured.delete(id);
    const measured = { usage: this.measure(credentialId), freshUntil: now + FRESH_MS, admitted: 0 };
    this.measured.set(credentialId, measured);
    measured.usage.catch(() => this.measured.delete(credentialId));
    return measured;
  }

  private async measure(credentialId: string): Promise<Usage> {
    const { rows } = await sql<Usage>`
      select count(*)::int as requests, coalesce(sum(octet_length(answer)), 0)::float8 as bytes,
        coalesce(ceil(extract(epoch from min(expires_at) - now())), 0)::float8 as "oldestSeconds"
      from idempotent_request where credential_id = ${credentialId} and expires_at > now()`.execute(
      this.database.tables(),
    );
    return rows[0] ?? { requests: 0, bytes: 0, oldestSeconds: 0 };
  }
}

function noRoom(oldestSeconds: number): TooManyRequests {
  const seconds = Math.max(1, oldestSeconds);
  return new TooManyRequests(
    `This credential has used Idempotency-Key for ${MAX_KEPT_REQUESTS} requests, or for ${MAX_KEPT_BYTES} bytes of answers, in 24 hours, and no more are kept; send requests without a key, or wait until the oldest are forgotten`,
    { 'retry-after': String(seconds) },
  );
}
