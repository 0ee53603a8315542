import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { iso, isoOrNull } from '../../platform/database/index.js';
import { type TokenStanding, Tokens } from '../stored-credentials/index.js';
import type { ConnectorState, ConnectorToolView, ConnectorView } from './connectors.dto.js';
import { type ConnectorRow, type CredentialRow, type ToolRow } from './records/connector-rows.js';
import { CredentialsStore } from './records/credentials.store.js';
import { GrantsStore } from './records/grants.store.js';
import { ToolsStore } from './records/tools.store.js';
import { differences, proposedEffect } from './tools/pin.js';
import { toolNames } from './tools/tool-names.js';

@Injectable()
export class ConnectorViews {
  constructor(
    private readonly credentials: CredentialsStore,
    private readonly tools: ToolsStore,
    private readonly grants: GrantsStore,
    private readonly tokens: Tokens,
  ) {}

  async one(actor: Actor, row: ConnectorRow): Promise<ConnectorView> {
    const [view] = await this.list(actor, [row]);
    if (!view) throw new Error('A connector has no view');
    return view;
  }

  async list(actor: Actor, rows: readonly ConnectorRow[]): Promise<ConnectorView[]> {
    const ids = rows.map(({ id }) => id);
    const credentials = await this.credentials.listFor(ids, actor.id);
    const [counts, grants, standings] = await Promise.all([
      this.tools.counts(ids),
      this.grants.visible(actor, ids),
      this.tokens.standings(credentials.map(({ token_set_id }) => token_set_id)),
    ]);
    return rows.map(row => {
      const whose = row.per_user ? actor.id : null;
      const credential = credentials.find(one => one.connector_id === row.id && one.user_id === whose);
      const standing = standings.find(({ id }) => id === credential?.token_set_id);
      const numbers = counts.filter(({ connector_id }) => connector_id === row.id);
      const count = (state: string) => numbers.find(one => one.state === state)?.count ?? 0;
      return {
        ...toCommonFields(row),
        ...deriveState(row, credential, standing),
        tools: {
          approved: count('approved'),
          new: count('new'),
          changed: count('changed'),
          removed: count('removed'),
          blocked: count('blocked'),
        },
        workspaces: grants
          .filter(({ connector_id }) => connector_id === row.id)
          .map(({ workspace_id, tools }) => ({ workspace_id, tools })),
      };
    });
  }
}

export function newConnectorView(row: ConnectorRow, hasCredential: boolean): ConnectorView {
  const isReady = row.auth === 'none' || hasCredential;
  return {
    ...toCommonFields(row),
    state: isReady ? 'active' : 'needs_auth',
    reason: null,
    workspaces: [],
    tools: { approved: 0, new: 0, changed: 0, removed: 0, blocked: 0 },
  };
}

function toCommonFields(row: ConnectorRow) {
  const {
    id,
    organization_id,
    user_id,
    name,
    slug,
    url,
    auth,
    per_user,
    authorization_server,
    client_id,
    server,
  } = row;
  return {
    id,
    organization_id,
    name,
    slug,
    url,
    auth,
    per_user,
    authorization_server,
    client_id,
    owner: user_id === null ? 'organization' : 'user',
    enabled: !row.is_disabled,
    server: server && {
      name: server.name,
      title: server.title,
      version: server.version,
      protocol: server.protocol,
    },
    checked_at: isoOrNull(row.checked_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

function deriveState(
  { auth, is_disabled, fault }: ConnectorRow,
  credential: CredentialRow | undefined,
  standing: TokenStanding | undefined,
): { state: ConnectorState; reason: string | null } {
  if (is_disabled) return { state: 'disabled', reason: null };
  if (auth !== 'none') {
    if (!credential) return { state: 'needs_auth', reason: null };
    if (credential.review !== null) return { state: 'needs_review', reason: credential.review };
    if (standing?.state === 'needs_reauth') return { state: 'needs_reauth', reason: standing.reason };
    if (standing?.state === 'error') return { state: 'error', reason: standing.reason };
  }
  return fault === null ? { state: 'active', reason: null } : { state: 'error', reason: fault };
}

export const instructionsHash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Tools as people look at them before they approve them; `all` are those of the connector. */
export function toolViews(
  { slug }: Pick<ConnectorRow, 'slug'>,
  rows: readonly ToolRow[],
  all: readonly Pick<ToolRow, 'name' | 'state' | 'approved'>[],
): ConnectorToolView[] {
  const names = toolNames(
    slug,
    all.map(({ name }) => name),
  );
  const callNames = new Map([...names].map(([callName, name]) => [name, callName]));
  const removed = all.filter(({ state }) => state === 'removed');
  return rows.map(row => {
    const { name, definition, approved, state } = row;
    const before = removed.find(
      gone =>
        gone.approved && JSON.stringify(gone.approved.inputSchema) === JSON.stringify(definition.inputSchema),
    );
    return {
      name,
      call_name: callNames.get(name) ?? '',
      state,
      hash: row.hash,
      effect: row.approved_hash === null ? 'write' : row.effect,
      proposed_effect: proposedEffect(definition),
      title: definition.title ?? null,
      description: definition.description ?? null,
      input_schema: definition.inputSchema,
      output_schema: definition.outputSchema ?? null,
      annotations: definition.annotations ?? null,
      differences: approved && state === 'changed' ? differences(approved, definition) : [],
      renamed_from: state === 'new' ? (before?.name ?? null) : null,
      approved_by: row.approved_by,
      approved_at: isoOrNull(row.approved_at),
    };
  });
}
