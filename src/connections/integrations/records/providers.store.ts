import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import type { ProviderDefinition } from '../providers/definition.js';

declare global {
  interface ColumnTypes {
    'integration_provider.definition': ProviderDefinition;
  }
}

export type ProviderRow = Row<'integration_provider'>;
export type ClientRow = Row<'integration_client'>;
type Queries = Pick<Database, 'tables'>;

/** Providers that organizations added, and who they are to providers. */
@Injectable()
export class ProvidersStore {
  constructor(private readonly database: Database) {}

  list(organizationId: string, within: Queries = this.database): Promise<ProviderRow[]> {
    const query = within.tables().selectFrom('integration_provider').selectAll();
    return query.where('organization_id', '=', organizationId).orderBy('slug').execute();
  }

  find(
    organizationId: string,
    slug: string,
    within: Queries = this.database,
  ): Promise<ProviderRow | undefined> {
    const query = within.tables().selectFrom('integration_provider').selectAll().where('slug', '=', slug);
    return query.where('organization_id', '=', organizationId).executeTakeFirst();
  }

  /** Nothing where the id is taken. */
  insert(
    unit: UnitOfWork,
    organization_id: string,
    definition: ProviderDefinition,
    created_by: string,
  ): Promise<ProviderRow | undefined> {
    const now = sql<string>`now()`;
    return unit
      .tables()
      .insertInto('integration_provider')
      .values({
        id: newId(),
        organization_id,
        slug: definition.id,
        definition: storable(definition),
        created_by,
        created_at: now,
        updated_at: now,
      })
      .onConflict(conflict => conflict.columns(['organization_id', 'slug']).doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  async update(unit: UnitOfWork, id: string, definition: ProviderDefinition): Promise<void> {
    await sql`
      update integration_provider set definition = ${storable(definition)}::jsonb, updated_at = now()
      where id = ${id}`.execute(unit.tables());
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('integration_provider').where('id', '=', id).execute();
  }

  clients(organizationId: string): Promise<ClientRow[]> {
    const query = this.database.tables().selectFrom('integration_client').selectAll();
    return query.where('organization_id', '=', organizationId).execute();
  }

  client(
    organizationId: string,
    provider: string,
    within: Queries = this.database,
  ): Promise<ClientRow | undefined> {
    const query = within
      .tables()
      .selectFrom('integration_client')
      .selectAll()
      .where('provider', '=', provider);
    return query.where('organization_id', '=', organizationId).executeTakeFirst();
  }

  async setClient(unit: UnitOfWork, row: Omit<ClientRow, 'updated_at'>): Promise<void> {
    const { client_id, secret_id, updated_by } = row;
    const changes = { client_id, secret_id, updated_by, updated_at: sql<string>`now()` };
    await unit
      .tables()
      .insertInto('integration_client')
      .values({ ...row, updated_at: sql<string>`now()` })
      .onConflict(conflict => conflict.columns(['organization_id', 'provider']).doUpdateSet(changes))
      .execute();
  }

  async removeClient(unit: UnitOfWork, organizationId: string, provider: string): Promise<void> {
    const query = unit.tables().deleteFrom('integration_client').where('provider', '=', provider);
    await query.where('organization_id', '=', organizationId).execute();
  }
}
