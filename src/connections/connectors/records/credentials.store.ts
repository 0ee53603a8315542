import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import type { ConnectorRow, CredentialRow, StoredClient } from './connector-rows.js';

type Queries = Pick<Database, 'tables'>;
/** Whose credential: a person's, or (null) everyone's. */
type Whose = { readonly connectorId: string; readonly userId: string | null };

export interface CredentialScope {
  readonly issuer: string | null;
  readonly resource: string | null;
  readonly client: StoredClient | null;
}

export type CredentialOfConnector = CredentialRow & { readonly connector: ConnectorRow };

/** Credentials of connectors; the secrets are in their token sets. */
@Injectable()
export class CredentialsStore {
  constructor(private readonly database: Database) {}

  async find(
    { connectorId, userId }: Whose,
    within: Queries = this.database,
  ): Promise<CredentialRow | undefined> {
    const { rows } = await sql<CredentialRow>`
      select * from connector_credential
      where connector_id = ${connectorId} and user_id is not distinct from ${userId}`.execute(
      within.tables(),
    );
    return rows[0];
  }

  async listFor(connectorIds: readonly string[], userId: string): Promise<CredentialRow[]> {
    if (connectorIds.length === 0) return [];
    const { rows } = await sql<CredentialRow>`
      select * from connector_credential where connector_id = any(${[...connectorIds]}::uuid[])
        and (user_id is null or user_id = ${userId})`.execute(this.database.tables());
    return rows;
  }

  async findByTokens(tokenSetId: string): Promise<CredentialOfConnector | undefined> {
    const { rows } = await sql<CredentialOfConnector>`
      select r.*, to_jsonb(c) as connector from connector_credential r join connector c on c.id = r.connector_id
      where r.token_set_id = ${tokenSetId}`.execute(this.database.tables());
    return rows[0];
  }

  /** Stores what the credential is good for, and ends a review. */
  async keep(
    unit: UnitOfWork,
    { connectorId, userId }: Whose,
    tokenSetId: string,
    { issuer, resource, client }: CredentialScope,
  ): Promise<void> {
    await sql`
      insert into connector_credential (id, connector_id, user_id, token_set_id, issuer, resource, client, created_at, updated_at)
      values (${newId()}, ${connectorId}, ${userId}, ${tokenSetId}, ${issuer}, ${resource},
        ${client && JSON.stringify(client)}::jsonb, now(), now())
      on conflict (connector_id, user_id) do update set issuer = excluded.issuer, resource = excluded.resource,
        client = excluded.client, review = null, updated_at = now()`.execute(unit.tables());
  }

  /** Blocks the credential until a person has reviewed it. */
  async review(unit: UnitOfWork, id: string, reason: string): Promise<boolean> {
    const { rows } = await sql`
      update connector_credential set review = ${reason}, updated_at = now()
      where id = ${id} and review is null returning 1`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Removes the credentials of a connector, of one person or of all; returns their token sets. */
  async remove(unit: UnitOfWork, connectorId: string, userId?: string | null): Promise<string[]> {
    const whose = userId === undefined ? sql`true` : sql`user_id is not distinct from ${userId}`;
    const { rows } = await sql<{ token_set_id: string }>`
      delete from connector_credential where connector_id = ${connectorId} and ${whose}
      returning token_set_id`.execute(unit.tables());
    return rows.map(({ token_set_id }) => token_set_id);
  }

  /** Removes the credentials of a person in an organization; returns their token sets. */
  async removePersonal(unit: UnitOfWork, organizationId: string, userId: string): Promise<string[]> {
    const { rows } = await sql<{ token_set_id: string }>`
      delete from connector_credential r using connector c
      where c.id = r.connector_id and c.organization_id = ${organizationId} and r.user_id = ${userId}
      returning r.token_set_id`.execute(unit.tables());
    return rows.map(({ token_set_id }) => token_set_id);
  }
}
