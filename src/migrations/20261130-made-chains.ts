import { Migration } from '@mikro-orm/migrations';

/** The automations that led to what people are notified of later, when nothing else says who began it. */
export class MadeChains extends Migration {
  override up(): void {
    this.addSql(`
      alter table site_version add column chain jsonb;
      alter table template_version add column chain jsonb;
      alter table operation add column chain jsonb;
    `);
  }
}
