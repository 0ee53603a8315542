import { Migration } from '@mikro-orm/migrations';

/** Processes of the service, and what they hold. */
export class LeasesMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- Which processes live, by their last sign of life.
      create table process (
        id uuid primary key,
        seen_at timestamptz not null,
        -- Where a process runs, so that others there see at once that it has ended.
        machine text,
        pid int,
        started text,
        listens_to text[]
      );

      create sequence lease_fence;

      create table lease (
        name text primary key,
        holder uuid not null,
        fence bigint not null default nextval('lease_fence')
      );
    `);
  }
}
