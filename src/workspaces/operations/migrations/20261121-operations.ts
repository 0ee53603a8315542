import { Migration } from '@mikro-orm/migrations';

/** Long operations, and how far they are. */
export class Operations extends Migration {
  override up(): void {
    this.addSql(`
      create table operation (
        id uuid primary key,
        kind text not null,
        status text not null check (status in ('queued', 'running', 'completed', 'error', 'cancelled')),
        actor_id uuid not null,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        source_id uuid not null,
        target_id uuid not null,
        -- What the new workspace is for others once it is complete.
        visibility text not null,
        done int not null default 0,
        total int,
        bytes_done bigint not null default 0,
        bytes_total bigint,
        skipped jsonb not null default '[]',
        error text,
        cancel_requested boolean not null default false,
        version int not null default 1,
        created_at timestamptz(3) not null,
        finished_at timestamptz(3)
      );
      create index operation_organization_id on operation (organization_id);
    `);
  }
}
