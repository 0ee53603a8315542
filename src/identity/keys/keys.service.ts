import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import { requireScope } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { Database } from '../../platform/database/database.js';
import { iso, isoOrNull, Row } from '../../platform/database/rows.js';
import { DeletedView } from '../../platform/http/deleted.view.js';
import { DEFAULT_LIMIT, decodeCursor, Page, pageOf } from '../../platform/http/page.js';
import { Invalid, NotFound } from '../../platform/http/problem.js';
import { OrganizationsStore } from '../organizations/index.js';
import { ApiKey } from './api-key.entity.js';
import { makeKey } from './key-format.js';
import { CreatedKeyView, CreateKey, KeyId, KeyPage, KeyView, ListKeys } from './keys.dto.js';

/** The caller's own API keys. */
@Injectable()
export class KeysService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(OrganizationsStore) private readonly organizations: OrganizationsStore,
  ) {}

  @Action({
    name: 'key_list',
    summary: 'List the API keys of the caller',
    effect: 'read',
    permission: 'key.read',
    input: ListKeys,
    output: KeyPage,
  })
  async list(actor: Actor, { limit = DEFAULT_LIMIT, cursor }: ListKeys): Promise<Page<KeyView>> {
    requireScope(actor, 'key.read');
    const [after] = decodeCursor(cursor, 'id');
    const query = this.ownLive(actor)
      .orderBy('id')
      .limit(limit + 1);
    const rows = await (after ? query.where('id', '>', after) : query).execute();
    return pageOf(rows, limit, keyView, row => [row.id]);
  }

  @Action({
    name: 'key_create',
    summary: 'Create an API key; its secret is in the answer and nowhere else',
    effect: 'write',
    permission: 'key.write',
    input: CreateKey,
    output: CreatedKeyView,
  })
  async create(actor: Actor, input: CreateKey): Promise<CreatedKeyView> {
    const { organization_id, expires_at } = input;
    if (organization_id) await this.organizations.require(actor, 'organization.read', organization_id);
    if (expires_at && Date.parse(expires_at) <= Date.now())
      throw new Invalid('expires_at must be in the future');
    const made = makeKey();
    const key = new ApiKey(actor.id, input.name.trim(), made);
    key.organizationId = organization_id ?? null;
    key.scopes = input.scopes ?? null;
    key.workspaceIds = input.workspace_ids ?? null;
    key.expiresAt = expires_at ? new Date(expires_at) : null;
    await this.database.transaction(async unit => unit.add(key));
    return { ...entityView(key), api_key: made.secret };
  }

  @Action({
    name: 'key_read',
    summary: 'Read an API key, without its secret',
    effect: 'read',
    permission: 'key.read',
    input: KeyId,
    output: KeyView,
  })
  async read(actor: Actor, { id }: KeyId): Promise<KeyView> {
    const row = await this.ownLive(actor).where('id', '=', id).executeTakeFirst();
    if (!row) throw new NotFound('No such key');
    requireScope(actor, 'key.read');
    return keyView(row);
  }

  @Action({
    name: 'key_revoke',
    summary: 'Revoke an API key, at once and for good',
    effect: 'destructive',
    permission: 'key.write',
    input: KeyId,
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: KeyId): Promise<DeletedView> {
    await this.database.transaction(async unit => {
      const key = await unit.entities.findOne(ApiKey, { id, userId: actor.id, revokedAt: null });
      if (!key) throw new NotFound('No such key');
      requireScope(actor, 'key.write');
      key.revoke();
    });
    return DeletedView.of(id);
  }

  private ownLive(actor: Actor) {
    return this.database
      .tables<{ api_key: ApiKey }>()
      .selectFrom('api_key')
      .selectAll()
      .where('user_id', '=', actor.id)
      .where('revoked_at', 'is', null);
  }
}

function keyView(row: Row<ApiKey>): KeyView {
  const { id, name, hint, organization_id, scopes, workspace_ids } = row;
  return {
    id,
    name,
    hint,
    organization_id,
    scopes,
    workspace_ids,
    expires_at: isoOrNull(row.expires_at),
    last_used_at: isoOrNull(row.last_used_at),
    created_at: iso(row.created_at),
  };
}

function entityView(key: ApiKey): KeyView {
  const { id, name, hint, scopes, organizationId: organization_id, workspaceIds: workspace_ids } = key;
  const expires_at = isoOrNull(key.expiresAt);
  return {
    id,
    name,
    hint,
    organization_id,
    scopes,
    workspace_ids,
    expires_at,
    last_used_at: null,
    created_at: iso(key.createdAt),
  };
}
