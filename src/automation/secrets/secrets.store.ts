import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../platform/dto/index.js';
import { type Seal, Vault } from '../../platform/vault/index.js';

export type SecretRow = Pick<Row<'workspace_secret'>, 'name' | 'created_at' | 'updated_at'>;

interface NamedSecret {
  readonly workspaceId: string;
  readonly name: string;
}

/** The table `workspace_secret`. Each value is sealed for its workspace and name. */
@Injectable()
export class SecretsStore {
  private readonly seal: Seal;

  constructor(
    private readonly database: Database,
    vault: Vault,
  ) {
    this.seal = vault.seal('workspace secrets');
  }

  list(workspaceId: string, input: PageInput): Promise<Page<SecretRow>> {
    const secrets = this.database.tables().selectFrom('workspace_secret');
    const query = secrets
      .select(['name', 'created_at', 'updated_at'])
      .where('workspace_id', '=', workspaceId);
    return selectPage(query, input, { by: 'name', kind: 'text' });
  }

  async names(workspaceId: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select name from workspace_secret where workspace_id = ${workspaceId} order by name`.execute(
      this.database.tables(),
    );
    return rows.map(({ name }) => name);
  }

  /** Undefined where the workspace has `most` others already; the caller holds its lock. */
  async set(
    unit: UnitOfWork,
    secret: NamedSecret,
    value: string,
    most: number,
  ): Promise<SecretRow | undefined> {
    const { workspaceId, name } = secret;
    const { rows } = await sql<SecretRow>`
      insert into workspace_secret (workspace_id, name, sealed, created_at, updated_at)
      select ${workspaceId}, ${name}, ${this.seal.close(value, contextOf(secret))}, now(), now()
      where (select count(*) from workspace_secret where workspace_id = ${workspaceId} and name <> ${name}) < ${most}
      on conflict (workspace_id, name) do update set sealed = excluded.sealed, updated_at = excluded.updated_at
      returning name, created_at, updated_at`.execute(unit.tables());
    return rows[0];
  }

  /** False where there is none. */
  async delete(unit: UnitOfWork, { workspaceId, name }: NamedSecret): Promise<boolean> {
    const { rows } = await sql`
      delete from workspace_secret where workspace_id = ${workspaceId} and name = ${name} returning name`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  /** Values by name; a name that the workspace does not have is absent. */
  async values(workspaceId: string, names: readonly string[]): Promise<Map<string, string>> {
    if (names.length === 0) return new Map();
    const { rows } = await sql<{ name: string; sealed: Buffer }>`
      select name, sealed from workspace_secret
      where workspace_id = ${workspaceId} and name = any(${[...names]}::text[])`.execute(
      this.database.tables(),
    );
    return new Map(
      rows.map(({ name, sealed }) => {
        const value = this.seal.open(sealed, contextOf({ workspaceId, name }));
        if (!value) throw new Error(`The secret ${name} cannot be opened: its key is missing`);
        return [name, value.toString()];
      }),
    );
  }
}

const contextOf = ({ workspaceId, name }: NamedSecret): string => `${workspaceId} ${name}`;
