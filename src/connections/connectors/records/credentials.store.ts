import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import type { ConnectorRow, CredentialRow, StoredClient } from './connector-rows.js';

type Queries = Pick<Database, 'tables'>;
/** Whose credential: a person's, or (null) everyone's. */
type Whose = { readonly connectorId: string; readonly userId: string | null };

/** What a credential is good for. */
export interface CredentialScope {
  readonly issuer: string | null;
  readonly resource: string | null;
  readonly client: StoredClient | null;
}

/** A credential with its connector, for renewals. */
export type CredentialOfConnector = CredentialRow & { readonly connector: ConnectorRow };

/** Which tokens connectors are used with; the tokens themselves are those of `tokens`. */
@Injectable()
export class CredentialsStore {
  constructor(private readonly database: Database) {}

  async of(
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

  async ofConnectors(connectorIds: readonly string[], userId: string): Promise<CredentialRow[]> {
    if (connectorIds.length === 0) return [];
    const { rows } = await sql<CredentialRow>`
      select * from connector_credential where connector_id = any(${[...connectorIds]}::uuid[])
        and (user_id is null or user_id = ${userId})`.execute(this.database.tables());
    return rows;
  }

  async ofTokens(tokenSetId: string): Promise<CredentialOfConnector | undefined> {
    const { rows } = await sql<CredentialOfConnector>`
      select r.*, to_jsonb(c) as connector from connector_credential r join connector c on c.id = r.connector_id
      where r.token_set_id = ${tokenSetId}`.execute(this.database.tables());
    return rows[0];
  }

  async insert(
    unit: UnitOfWork,
    { connectorId, userId }: Whose,
    tokenSetId: string,
    scope: CredentialScope,
  ): Promise<void> {
    await sql`
      insert into connector_credential (id, connector_id, user_id, token_set_id, issuer, resource, client, created_at, updated_at)
      values (${newId()}, ${connectorId}, ${userId}, ${tokenSetId}, ${scope.issuer}, ${scope.resource},
        ${scope.client && JSON.stringify(scope.client)}::jsonb, now(), now())`.execute(unit.tables());
  }

  /** It is good for this from now on, and nobody has to look at it. */
  async renew(unit: UnitOfWork, id: string, scope: CredentialScope): Promise<void> {
    await sql`
      update connector_credential set issuer = ${scope.issuer}, resource = ${scope.resource}, review = null,
        client = ${scope.client && JSON.stringify(scope.client)}::jsonb, updated_at = now()
      where id = ${id}`.execute(unit.tables());
  }

  /** A person has to look at it before it is used again. */
  async review(unit: UnitOfWork, id: string, reason: string): Promise<boolean> {
    const { rows } = await sql`
      update connector_credential set review = ${reason}, updated_at = now()
      where id = ${id} and review is null returning 1`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Removes those of a connector, of one person or of all; returns the ids of their tokens. */
  async remove(unit: UnitOfWork, connectorId: string, userId?: string | null): Promise<string[]> {
    const whose = userId === undefined ? sql`true` : sql`user_id is not distinct from ${userId}`;
    const { rows } = await sql<{ token_set_id: string }>`
      delete from connector_credential where connector_id = ${connectorId} and ${whose}
      returning token_set_id`.execute(unit.tables());
    return rows.map(({ token_set_id }) => token_set_id);
  }

  /** Removes those of a person in an organization; returns the ids of their tokens. */
  async removeOf(unit: UnitOfWork, organizationId: string, userId: string): Promise<string[]> {
    const { rows } = await sql<{ token_set_id: string }>`
      delete from connector_credential r using connector c
      where c.id = r.connector_id and c.organization_id = ${organizationId} and r.user_id = ${userId}
      returning r.token_set_id`.execute(unit.tables());
    return rows.map(({ token_set_id }) => token_set_id);
  }
}
