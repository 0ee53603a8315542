import { Migration } from '@mikro-orm/migrations';

/** Models that organizations allow, and calls that wait for a slot at their provider. */
export class ModelsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table organization_models (
        organization_id uuid primary key references organization on delete cascade deferrable initially deferred,
        enabled text[] not null,
        disabled text[] not null,
        default_model text,
        new_models text not null check (new_models in ('enabled', 'disabled')),
        updated_at timestamptz not null,
        fallback text[] not null default '{}'
      );

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
