import { Migration } from '@mikro-orm/migrations';

/** Background jobs and recurring chores. */
export class JobsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table accepted_job (
        id uuid primary key,
        queue text not null,
        name text not null,
        payload jsonb not null,
        -- The process that carries it out. Where that is lost, another takes it over.
        holder uuid,
        -- Attempts that failed, and those that ended with their process.
        failures int not null default 0,
        lost int not null default 0,
        -- Why the last attempt failed.
        reason text,
        -- When the queue is given it again, which changes nothing where the queue still knows it.
        look_at timestamptz not null,
        created_at timestamptz not null,
        failed_at timestamptz
      );
      create index accepted_job_look_at on accepted_job (look_at) where failed_at is null;
      create index accepted_job_failed_at on accepted_job (failed_at) where failed_at is not null;

      create table chore (
        name text primary key,
        due_at timestamptz not null,
        holder uuid
      );
    `);
  }
}
