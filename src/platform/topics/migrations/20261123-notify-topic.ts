import { Migration } from '@mikro-orm/migrations';

/** One function publishes topics; triggers that were made before call it from now on. */
export class NotifyTopic extends Migration {
  override up(): void {
    this.addSql(`
      create function notify_topic(topic text) returns void language sql as $$ select pg_notify('atelier', topic) $$;

      do $$
      declare definition text;
      begin
        for definition in
          select pg_get_functiondef(p.oid) from pg_proc p
          where p.pronamespace = current_schema()::regnamespace and p.proname <> 'notify_topic'
            and p.prosrc like '%pg_notify(''atelier'', %'
        loop
          execute replace(definition, 'pg_notify(''atelier'', ', 'notify_topic(');
        end loop;
      end $$;
    `);
  }
}
