import { Migration } from '@mikro-orm/migrations';

/** Answers kept for repeated requests, and what callers did lately. */
export class Requests extends Migration {
  override up(): void {
    this.addSql(`
      create table idempotent_request (
        credential_id uuid not null,
        lookup bytea not null,
        fingerprint bytea not null,
        holder uuid not null,
        leased_until timestamptz not null,
        expires_at timestamptz not null,
        answer bytea,
        primary key (credential_id, lookup)
      );
      create unique index idempotent_request_holder_key on idempotent_request (holder);
      create index idempotent_request_expires_at on idempotent_request (expires_at);

      -- Counts that may be lost with a crash, and are not worth the write-ahead log.
      create unlogged table rate_count (
        caller text not null,
        minute int not null,
        count int not null,
        primary key (caller, minute)
      );
      create index rate_count_minute on rate_count (minute);
    `);
  }
}
