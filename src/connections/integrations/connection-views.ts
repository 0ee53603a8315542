import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { type Database, iso, isoOrNull } from '../../platform/database/index.js';
import { Tokens } from '../stored-credentials/index.js';
import type { IntegrationView } from './integrations.dto.js';
import type { ConnectionRow } from './records/connections.store.js';
import { GrantsStore } from './records/grants.store.js';

/** Connections as their managers and users read them; nothing of a secret. */
@Injectable()
export class ConnectionViews {
  constructor(
    private readonly grants: GrantsStore,
    private readonly tokens: Tokens,
  ) {}

  async list(
    actor: Actor,
    rows: readonly ConnectionRow[],
    within?: Pick<Database, 'tables'>,
  ): Promise<IntegrationView[]> {
    const grants = await this.grants.seenBy(
      actor,
      rows.map(({ id }) => id),
      within,
    );
    const standings = await this.tokens.standings(
      rows.flatMap(({ token_set_id }) => (token_set_id ? [token_set_id] : [])),
      within,
    );
    return rows.map(row => {
      const tokens = standings.find(({ id }) => id === row.token_set_id);
      const { id, organization_id, user_id, provider, name, account, state, reason, settings } = row;
      return {
        id,
        organization_id,
        user_id,
        provider,
        name,
        account,
        state,
        settings,
        owner: user_id === null ? 'organization' : 'user',
        reason: reason ?? tokens?.reason ?? null,
        scopes: [...row.scopes],
        grants: grants
          .filter(({ connection_id }) => connection_id === id)
          .map(({ workspace_id, methods, paths, repositories, permissions }) => ({
            workspace_id,
            methods: [...methods],
            paths: [...paths],
            repositories: [...repositories],
            permissions: { ...permissions },
          })),
        access_expires_at: isoOrNull(tokens?.access_expires_at ?? null),
        expires_at: isoOrNull(
          (tokens?.is_renewable ? tokens.refresh_expires_at : tokens?.access_expires_at) ?? null,
        ),
        last_used_at: isoOrNull(tokens?.last_used_at ?? null),
        created_at: iso(row.created_at),
        updated_at: iso(row.updated_at),
      };
    });
  }

  async one(actor: Actor, row: ConnectionRow, within?: Pick<Database, 'tables'>): Promise<IntegrationView> {
    const [view] = await this.list(actor, [row], within);
    return view as IntegrationView;
  }
}
