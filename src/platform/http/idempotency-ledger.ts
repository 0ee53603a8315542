import { Inject, Injectable, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId } from '../database/database.js';
import { Log } from '../log/log.js';

/** How long a request in flight is taken to be alive without a sign of its process. */
export const LEASE_SECONDS = 30;
const RENEW_MS = (LEASE_SECONDS * 1000) / 3;
const KEPT_HOURS = 24;
const MOST_ATTEMPTS = 3;

interface Question {
  credentialId: string;
  lookup: Buffer;
  fingerprint: Buffer;
}

/** What the ledger says to a request: it is the one to run (`holder` is its hold), or another was there before. */
export type Standing =
  | { state: 'ours'; holder: string }
  | { state: 'other-request' }
  | { state: 'running' }
  | { state: 'answered'; answer: Buffer };

interface Row {
  fingerprint: Buffer;
  answer: Buffer | null;
}

/**
 * Which requests with an `Idempotency-Key` run or have run, across all processes. Whoever holds a row renews its lease;
 * a row whose lease ran out without an answer was left by a process that died, and the next such request takes it over.
 */
@Injectable()
export class IdempotencyLedger implements OnApplicationShutdown {
  private readonly held = new Set<string>();
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationShutdown(): void {
    clearInterval(this.renewal);
  }

  async enter(question: Question): Promise<Standing> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const holder = await this.take(question);
      if (holder) return { state: 'ours', holder };
      const row = await this.find(question);
      if (row) return standingOf(row, question);
      // It was released between the two statements: take it now.
    }
    return { state: 'running' };
  }

  /** Keeps the answer for repetitions; nothing happens where the hold was lost. */
  async answer(holder: string, answer: Buffer): Promise<void> {
    this.drop(holder);
    await sql`
      update idempotent_request
      set answer = ${answer}, expires_at = now() + make_interval(hours => ${KEPT_HOURS})
      where holder = ${holder}`.execute(this.database.tables());
  }

  /** Forgets the request, so that the next one with its key runs. */
  async release(holder: string): Promise<void> {
    this.drop(holder);
    await sql`delete from idempotent_request where holder = ${holder}`.execute(this.database.tables());
  }

  async deleteExpired(): Promise<void> {
    await sql`delete from idempotent_request where expires_at < now()`.execute(this.database.tables());
  }

  private async take({ credentialId, lookup, fingerprint }: Question): Promise<string | undefined> {
    const holder = newId();
    const { rows } = await sql`
      insert into idempotent_request as r (credential_id, lookup, fingerprint, holder, leased_until, expires_at)
      values (${credentialId}, ${lookup}, ${fingerprint}, ${holder},
        now() + make_interval(secs => ${LEASE_SECONDS}), now() + make_interval(hours => ${KEPT_HOURS}))
      on conflict (credential_id, lookup) do update
      set fingerprint = excluded.fingerprint, holder = excluded.holder, answer = null,
        leased_until = excluded.leased_until, expires_at = excluded.expires_at
      where r.expires_at < now()
        or (r.answer is null and r.leased_until < now() and r.fingerprint = excluded.fingerprint)
      returning holder`.execute(this.database.tables());
    if (rows.length === 0) return undefined;
    this.held.add(holder);
    this.renewal ??= setInterval(() => void this.renew(), RENEW_MS).unref();
    return holder;
  }

  private async find({ credentialId, lookup }: Question): Promise<Row | undefined> {
    const { rows } = await sql<Row>`
      select fingerprint, answer from idempotent_request
      where credential_id = ${credentialId} and lookup = ${lookup}`.execute(this.database.tables());
    return rows[0];
  }

  private drop(holder: string): void {
    this.held.delete(holder);
    if (this.held.size > 0) return;
    clearInterval(this.renewal);
    this.renewal = undefined;
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

function standingOf({ fingerprint, answer }: Row, question: Question): Standing {
  if (!fingerprint.equals(question.fingerprint)) return { state: 'other-request' };
  return answer ? { state: 'answered', answer } : { state: 'running' };
}
