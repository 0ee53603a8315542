import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId } from '../database/index.js';
import { Log } from '../log/index.js';
import { KEPT_HOURS, keeping } from './idempotency-exchange.js';
import { IdempotencyRoom } from './idempotency-room.js';

/** How long a request in flight is taken to be alive without a sign of its process. */
export const LEASE_SECONDS = 30;
const RENEW_MS = (LEASE_SECONDS * 1000) / 3;
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
  /** Its process died, and left open whether it was carried out. */
  | { state: 'unknown' }
  | { state: 'answered'; answer: Buffer };

interface Row {
  fingerprint: Buffer;
  answer: Buffer | null;
  abandoned: boolean;
}

/**
 * Which requests with an `Idempotency-Key` run or have run, across all processes. The process that runs one renews its
 * lease; a row whose lease ran out without an answer was left by a process that died. Where answers are committed with
 * the work, that means that nothing was done, and the next such request takes it over.
 */
@Injectable()
export class IdempotencyLedger implements OnApplicationShutdown {
  private readonly held = new Set<string>();
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly room: IdempotencyRoom,
    private readonly log: Log,
  ) {}

  onApplicationShutdown(): void {
    clearInterval(this.renewal);
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
    this.drop(holder);
    const { rows } = await keeping(holder, answer).execute(this.database.tables());
    return rows.length > 0 ? undefined : ((await this.committed(holder)) ?? 'lost');
  }

  /**
   * Forgets the request, so that the next one with its key runs; unless its answer was committed after all, which is then
   * returned. Waits for a transaction that the server still works on although its client is gone.
   */
  async release(holder: string): Promise<Buffer | undefined> {
    this.drop(holder);
    const { numAffectedRows } = await sql`
      delete from idempotent_request where holder = ${holder} and answer is null`.execute(
      this.database.tables(),
    );
    return numAffectedRows ? undefined : this.committed(holder);
  }

  /** The request is over, and its answer committed. */
  drop(holder: string): void {
    this.held.delete(holder);
    if (this.held.size > 0) return;
    clearInterval(this.renewal);
    this.renewal = undefined;
  }

  async deleteExpired(): Promise<void> {
    await sql`delete from idempotent_request where expires_at < now()`.execute(this.database.tables());
  }

  private async committed(holder: string): Promise<Buffer | undefined> {
    const { rows } = await sql<{ answer: Buffer | null }>`
      select answer from idempotent_request where holder = ${holder}`.execute(this.database.tables());
    return rows[0]?.answer ?? undefined;
  }

  private async take(question: Question): Promise<string | undefined> {
    const { credentialId, lookup, fingerprint, commitsAnswer } = question;
    const holder = newId();
    const { rows } = await sql`
      insert into idempotent_request as r
        (credential_id, lookup, fingerprint, holder, commits_answer, leased_until, expires_at)
      values (${credentialId}, ${lookup}, ${fingerprint}, ${holder}, ${commitsAnswer},
        now() + make_interval(secs => ${LEASE_SECONDS}), now() + make_interval(hours => ${KEPT_HOURS}))
      on conflict (credential_id, lookup) do update
      set fingerprint = excluded.fingerprint, holder = excluded.holder, answer = null,
        commits_answer = excluded.commits_answer, leased_until = excluded.leased_until, expires_at = excluded.expires_at
      where r.expires_at < now()
        or (r.answer is null and r.commits_answer and r.leased_until < now() and r.fingerprint = excluded.fingerprint)
      returning holder`.execute(this.database.tables());
    if (rows.length === 0) return undefined;
    this.held.add(holder);
    this.renewal ??= setInterval(() => void this.renew(), RENEW_MS).unref();
    return holder;
  }

  private async find({ credentialId, lookup }: Question): Promise<Row | undefined> {
    const { rows } = await sql<Row>`
      select fingerprint, answer, not commits_answer and leased_until < now() as abandoned from idempotent_request
      where credential_id = ${credentialId} and lookup = ${lookup}`.execute(this.database.tables());
    return rows[0];
  }

  private async renew(): Promise<void> {
    try {
      await sql`
        update idempotent_request set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
        where holder = any(${[...this.held]}::uuid[])`.execute(this.database.tables());
    } catch (error) {
      this.log.warn({ err: error }, 'the leases of requests in flight could not be renewed');
    }
  }
}

function standingOf({ fingerprint, answer, abandoned }: Row, question: Question): Standing {
  if (!fingerprint.equals(question.fingerprint)) return { state: 'other-request' };
  if (answer) return { state: 'answered', answer };
  return { state: abandoned ? 'unknown' : 'running' };
}
