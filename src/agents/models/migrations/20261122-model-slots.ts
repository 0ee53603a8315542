import { Migration } from '@mikro-orm/migrations';

/** The calls of models that are limited, over all processes. What a crash of the database takes with it is asked for again. */
export class ModelSlots extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table model_slot (
        id uuid primary key,
        number bigint generated always as identity,
        provider text not null,
        organization_id uuid not null,
        holder uuid not null,
        round bigint not null,
        entered boolean not null default false
      );
      create index model_slot_order on model_slot (provider, entered, round, number);
    `);
  }
}
