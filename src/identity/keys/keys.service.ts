import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { ById, DeletedView, type Page, PageInput } from '../../platform/dto/index.js';
import { OrganizationsStore } from '../organizations/index.js';
import { Keyring } from './keyring.js';
import { CreatedKeyView, CreateKey, KeyPage, KeyView, RotateKey, UpdateKey } from './keys.dto.js';
import type { KeyOwner } from './keys.store.js';

const own = (actor: Actor): KeyOwner =>
  actor.type === 'user' ? { user_id: actor.id } : { service_account_id: actor.id };

/** The caller's own API keys. */
@Injectable()
export class KeysService {
  constructor(
    private readonly keyring: Keyring,
    private readonly organizations: OrganizationsStore,
  ) {}

  @Action('key_list', 'GET /api/keys', {
    summary: 'List the API keys of the caller',
    permission: 'key.read',
    input: PageInput,
    output: KeyPage,
  })
  async list(actor: Actor, input: PageInput): Promise<Page<KeyView>> {
    requireScope(actor, 'key.read');
    return this.keyring.list(own(actor), input);
  }

  @Action('key_create', 'POST /api/keys', {
    summary: 'Create an API key; its secret is in the answer and nowhere else',
    consequence: 'Whoever holds the key can then act as you, within its limits.',
    permission: 'key.write',
    sessionOnly: true,
    input: CreateKey,
    output: CreatedKeyView,
    commitsAnswer: true,
  })
  async create(actor: Actor, input: CreateKey): Promise<CreatedKeyView> {
    const { name, organization_id = null, scopes = null, workspace_ids = null, expires_at = null } = input;
    if (organization_id) await this.organizations.require(actor, 'organization.read', organization_id);
    return this.keyring.issue(actor, own(actor), name, {
      organization_id,
      scopes,
      workspace_ids,
      expires_at,
    });
  }

  @Action('key_get', 'GET /api/keys/:id', {
    on: { id: 'api_key' },
    summary: 'Read an API key, without its secret',
    permission: 'key.read',
    input: ById({ id: 'The key' }),
    output: KeyView,
  })
  async read(actor: Actor, { id }: ById): Promise<KeyView> {
    const key = await this.keyring.read(own(actor), id);
    requireScope(actor, 'key.read');
    return key;
  }

  @Action('key_update', 'PATCH /api/keys/:id', {
    on: { id: 'api_key' },
    summary: 'Rename an API key, or change what limits it',
    consequence: 'Whoever holds the key may then do what its new limits say.',
    permission: 'key.write',
    sessionOnly: true,
    input: UpdateKey,
    output: KeyView,
  })
  async update(actor: Actor, { id, ...changes }: UpdateKey): Promise<KeyView> {
    return this.keyring.change(actor, own(actor), id, changes);
  }

  @Action('key_rotate', 'POST /api/keys/:id/rotate', {
    on: { id: 'api_key' },
    summary: 'Replace an API key by a new one with the same limits; the old one may work on for a while',
    consequence: 'There is a new key to act as you, with the limits of the old one.',
    permission: 'key.write',
    sessionOnly: true,
    input: RotateKey,
    output: CreatedKeyView,
    commitsAnswer: true,
    refuses: { 409: 'It has been rotated already' },
  })
  async rotate(actor: Actor, { id, overlap_seconds = 0 }: RotateKey): Promise<CreatedKeyView> {
    return this.keyring.rotate(actor, own(actor), id, overlap_seconds);
  }

  @Action('key_revoke', 'DELETE /api/keys/:id', {
    on: { id: 'api_key' },
    summary: 'Revoke an API key, at once and for good',
    effect: 'destructive',
    consequence: 'The key never works again; programs that use it need a new one.',
    permission: 'key.write',
    input: ById({ id: 'The key' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.keyring.read(own(actor), id);
    requireScope(actor, 'key.write');
    await this.keyring.revoke(actor, own(actor), id);
    return DeletedView.of(id);
  }
}
