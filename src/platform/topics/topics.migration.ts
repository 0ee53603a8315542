import { Migration } from '@mikro-orm/migrations';

/** The one function that publishes topics. */
export class TopicsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create function notify_topic(topic text) returns void language sql as $$ select pg_notify('atelier', topic) $$;
    `);
  }
}
