import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { roleOf, type WorkspaceRole } from '../../../platform/access/index.js';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';

export type TokenRow = Row<'hosted_token'>;
type Target = Pick<HostedTarget, 'kind' | 'id'>;

@Injectable()
export class AccessTokensStore {
  constructor(private readonly database: Database) {}

  /** The current role of the token's creator. Undefined for unknown, expired or foreign tokens. */
  async find(
    hash: string,
    { kind, id }: Target,
  ): Promise<{ id: string; role: WorkspaceRole | null } | undefined> {
    const { rows } = await sql<{ id: string; role: WorkspaceRole | null }>`
      select t.id, ${roleOf(sql.ref('t.created_by'))} as role
      from hosted_token t join workspace w on w.id = t.workspace_id
      where t.hash = ${hash} and t.target_kind = ${kind} and t.target_id = ${id} and t.expires_at > now()`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  async add(
    unit: UnitOfWork,
    token: Pick<TokenRow, 'id' | 'hash' | 'name' | 'created_by'> & { seconds: number },
    { kind, id, workspaceId }: HostedTarget,
  ): Promise<TokenRow> {
    const { rows } = await sql<TokenRow>`
      insert into hosted_token (id, hash, target_kind, target_id, workspace_id, name, created_by, expires_at)
      values (${token.id}, ${token.hash}, ${kind}, ${id}, ${workspaceId}, ${token.name}, ${token.created_by},
        now() + make_interval(secs => ${token.seconds}))
      returning *`.execute(unit.tables());
    return rows[0] as TokenRow;
  }

  /** Query of the tokens of a target that have not expired. */
  valid({ kind, id }: Target) {
    const tokens = this.database.tables().selectFrom('hosted_token').selectAll();
    return tokens
      .where('target_kind', '=', kind)
      .where('target_id', '=', id)
      .where(sql<boolean>`expires_at > now()`);
  }

  async remove(unit: UnitOfWork, { kind, id }: Target, tokenId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from hosted_token where id = ${tokenId} and target_kind = ${kind} and target_id = ${id} returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  async deleteEnded(): Promise<void> {
    await sql`delete from hosted_token where expires_at < now() - interval '1 day'`.execute(
      this.database.tables(),
    );
  }
}
