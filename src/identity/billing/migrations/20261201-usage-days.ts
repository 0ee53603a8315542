import { Migration } from '@mikro-orm/migrations';

/** Sums of the ledger by day, so that a report of months reads days and no single calls. */
export class UsageDays extends Migration {
  override up(): void {
    this.addSql(`
      create table usage_day (
        organization_id uuid not null,
        day date not null,
        workspace_id uuid,
        actor_id uuid,
        deployment_id uuid,
        model text,
        model_calls bigint not null,
        unpriced_calls bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cache_read_tokens bigint not null,
        cache_write_tokens bigint not null,
        tool_seconds double precision not null,
        build_seconds double precision not null,
        server_seconds double precision not null,
        storage_byte_hours double precision not null,
        spend_usd numeric not null,
        unique nulls not distinct (organization_id, day, workspace_id, actor_id, deployment_id, model)
      );
      comment on table usage_day is 'Sums of usage_entry for the days before usage_summed.until';

      create table usage_summed (
        is_one boolean primary key default true check (is_one),
        until date not null
      );
      comment on column usage_summed.until is 'In UTC; the days before it are in usage_day';
      insert into usage_summed (until)
        select coalesce(min(time at time zone 'utc'), now() at time zone 'utc')::date from usage_entry;

      -- Entries are written in the order of their times: a few pages tell where a day lies.
      create index usage_entry_time on usage_entry using brin (time);`);
  }
}
