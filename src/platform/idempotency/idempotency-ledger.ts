import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type Row } from '../database/index.js';
import { TooManyRequests } from '../errors/index.js';
import { Chore } from '../jobs/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';
import { KEPT_HOURS, keepAnswer } from './idempotency-exchange.js';

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

const FIVE_MINUTES_MS = 300_000;
const MAX_ATTEMPTS = 3;

interface Question {
  credentialId: string;
  lookup: Buffer;
  fingerprint: Buffer;
  /** Whether a row without an answer says that nothing was committed. */
  commitsAnswer: boolean;
}

/** What the ledger says to a request: it is the one to run (`holder` is its hold), or another was there before. */
export type Standing =
  | { state: 'ours'; holder: string }
  | { state: 'other-request' }
  | { state: 'running' }
  /** Its process died, and left open whether it was done. */
  | { state: 'unknown' }
  | { state: 'answered'; answer: Buffer };

type FoundRow = Pick<Row<'idempotent_request'>, 'fingerprint' | 'answer'> & { abandoned: boolean };

/**
 * Which requests with an `Idempotency-Key` run or have run, across all processes. The process that runs one holds its row; a
 * row without an answer and without a holder is orphaned. Where answers are committed with the work, nothing was done then,
 * and the next such request takes it over. `holder` is the fence: it changes with each claim.
 */
@Injectable()
export class IdempotencyLedger implements OnModuleInit {
  private readonly rows: LeasedRows;
  /** Requests that are over, whose end is not in the database yet. */
  private readonly over = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly room: IdempotencyRoom,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('idempotent_request', { alias: 'r', holder: 'process_id' });
  }

  onModuleInit(): void {
    this.leases.recover('idempotent-request', () => this.releaseOver());
  }

  /** Throws TooManyRequests where the credential has no room for one more answer. */
  async enter(question: Question): Promise<Standing> {
    const refusal = await this.room.refusalFor(question.credentialId);
    if (refusal) {
      const row = await this.find(question);
      if (!row) throw refusal;
      return standingOf(row, question);
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const holder = await this.take(question);
      if (holder) return { state: 'ours', holder };
      const row = await this.find(question);
      if (row) return standingOf(row, question);
      // It was released between the two statements: take it now.
    }
    return { state: 'running' };
  }

  /**
   * Keeps the answer for repetitions, unless another was committed with the work, which is then returned; or `lost`, where
   * the request is not held any more.
   */
  async answer(holder: string, answer: Buffer): Promise<Buffer | 'lost' | undefined> {
    return this.ending(holder, async () => {
      const isKept = await keepAnswer(this.database, holder, answer);
      return isKept ? undefined : ((await this.committed(holder)) ?? 'lost');
    });
  }

  /**
   * Forgets the request, so that the next one with its key runs; unless its answer was committed after all, which is then
   * returned. Waits for a transaction that the server still works on although its client is gone.
   */
  async release(holder: string): Promise<Buffer | undefined> {
    return this.ending(holder, async () => {
      const { numAffectedRows } = await sql`
        delete from idempotent_request where holder = ${holder} and answer is null`.execute(
        this.database.tables(),
      );
      return numAffectedRows ? undefined : this.committed(holder);
    });
  }

  @Chore('idempotency', { everyMs: FIVE_MINUTES_MS })
  async deleteExpired(): Promise<void> {
    await sql`delete from idempotent_request where expires_at < now()`.execute(this.database.tables());
  }

  /** Where the database is away, the row is released when it is back. */
  private async ending<T>(holder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.over.add(holder);
      throw error;
    }
  }

  private async releaseOver(): Promise<void> {
    const over = [...this.over];
    if (over.length === 0) return;
    await sql`update idempotent_request set process_id = null where holder = any(${over}::uuid[])`.execute(
      this.database.tables(),
    );
    for (const holder of over) this.over.delete(holder);
  }

  private async committed(holder: string): Promise<Buffer | undefined> {
    const { rows } = await sql<{ answer: Buffer | null }>`
      select answer from idempotent_request where holder = ${holder}`.execute(this.database.tables());
    return rows[0]?.answer ?? undefined;
  }

  private async take(question: Question): Promise<string | undefined> {
    const { credentialId, lookup, fingerprint, commitsAnswer } = question;
    const holder = newId();
    await this.leases.requireFresh();
    const { rows } = await this.ending(holder, () =>
      sql`
      insert into idempotent_request as r
        (credential_id, lookup, fingerprint, holder, process_id, commits_answer, expires_at)
      values (${credentialId}, ${lookup}, ${fingerprint}, ${holder}, ${this.leases.processId}, ${commitsAnswer},
        now() + make_interval(hours => ${KEPT_HOURS}))
      on conflict (credential_id, lookup) do update
      set fingerprint = excluded.fingerprint, holder = excluded.holder, process_id = excluded.process_id, answer = null,
        commits_answer = excluded.commits_answer, expires_at = excluded.expires_at
      where r.expires_at < now()
        or (r.answer is null and r.commits_answer and ${this.rows.isFree} and r.fingerprint = excluded.fingerprint)
      returning holder`.execute(this.database.tables()),
    );
    return rows.length > 0 ? holder : undefined;
  }

  private async find({ credentialId, lookup }: Question): Promise<FoundRow | undefined> {
    const { rows } = await sql<FoundRow>`
      select fingerprint, answer, not commits_answer and ${this.rows.isFree} as abandoned from idempotent_request r
      where credential_id = ${credentialId} and lookup = ${lookup}`.execute(this.database.tables());
    return rows[0];
  }
}

function standingOf({ fingerprint, answer, abandoned }: FoundRow, question: Question): Standing {
  if (!fingerprint.equals(question.fingerprint)) return { state: 'other-request' };
  if (answer) return { state: 'answered', answer };
  return { state: abandoned ? 'unknown' : 'running' };
}
