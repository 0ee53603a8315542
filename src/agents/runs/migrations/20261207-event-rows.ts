import { Migration } from '@mikro-orm/migrations';

/**
 * Events that are written together are one row, whose id is that of the last of them. A row that was written before this has
 * one event in `type` and `data`. `events_of_row` gives the events of a row, however it has them; PostgreSQL puts its body
 * into the statement that calls it.
 */
export class EventRows extends Migration {
  override up(): void {
    this.addSql(`
      alter table run_event add column events jsonb, alter column type drop not null, alter column data drop not null;
      comment on column run_event.id is 'Number of the last event of the row';
      comment on column run_event.events is 'Events as type and data, in order; null: the row has one, in type and data';

      create function events_of_row(last_id int, only_type text, only_data jsonb, events jsonb)
        returns table (id int, type text, data jsonb) language sql immutable as $$
          select coalesce(last_id - jsonb_array_length(events) + part.n::int, last_id),
            coalesce(part.event ->> 'type', only_type), coalesce(part.event -> 'data', only_data)
          from (select) row left join lateral jsonb_array_elements(events) with ordinality as part (event, n) on true
        $$;
    `);
  }
}
