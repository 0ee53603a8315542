import { Migration } from '@mikro-orm/migrations';

/** Long operations and their progress. */
export class OperationsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table operation (
        id uuid primary key,
        kind text not null,
        state text not null check (state in ('queued', 'running', 'completed', 'error', 'cancelled')),
        actor_id uuid not null,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        subject_id uuid not null,
        error text,
        cancel_requested boolean not null default false,
        version int not null default 1,
        created_at timestamptz(3) not null,
        finished_at timestamptz(3),
        input jsonb not null default '{}',
        progress jsonb not null default '{}',
        result jsonb,
        chain jsonb
      );
      create index operation_organization_id on operation (organization_id);
    `);
  }
}
