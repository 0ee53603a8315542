import { Migration } from '@mikro-orm/migrations';

/** Answers kept for repeated requests. */
export class IdempotencyMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table idempotent_request (
        credential_id uuid not null,
        lookup bytea not null,
        fingerprint bytea not null,
        holder uuid not null,
        expires_at timestamptz not null,
        answer bytea,
        commits_answer boolean not null default false,
        process_id uuid,
        primary key (credential_id, lookup)
      );
      create unique index idempotent_request_holder_key on idempotent_request (holder);
      create index idempotent_request_expires_at on idempotent_request (expires_at);
    `);
  }
}
