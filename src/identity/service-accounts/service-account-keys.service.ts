import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { ById, DeletedView, ListById, type Page } from '../../platform/dto/index.js';
import { CreatedKeyView, KeyPage, Keyring, KeyView } from '../keys/index.js';
import { CreateServiceAccountKey, RotateServiceAccountKey } from './service-accounts.dto.js';
import { ServiceAccountsService } from './service-accounts.service.js';

/** Keys of service accounts, managed by those who may manage the account. All are bound to its organization. */
@Injectable()
export class ServiceAccountKeysService {
  constructor(
    private readonly accounts: ServiceAccountsService,
    private readonly keyring: Keyring,
  ) {}

  @Action('service_account_key_list', 'GET /api/service-accounts/:id/keys', {
    on: { id: 'service_account' },
    summary: 'List the keys of a service account',
    permission: 'service_account.read',
    input: ListById({ id: 'The service account' }),
    output: KeyPage,
  })
  async list(actor: Actor, { id, ...page }: ListById): Promise<Page<KeyView>> {
    await this.accounts.read(actor, { id });
    return this.keyring.list({ service_account_id: id }, page);
  }

  @Action('service_account_key_create', 'POST /api/service-accounts/:id/keys', {
    on: { id: 'service_account' },
    summary: 'Create a key of a service account; its secret is in the answer and nowhere else',
    consequence: 'Whoever holds the key can then act as this service account.',
    permission: 'service_account.manage',
    input: CreateServiceAccountKey,
    output: CreatedKeyView,
    commitsAnswer: true,
  })
  async create(actor: Actor, input: CreateServiceAccountKey): Promise<CreatedKeyView> {
    const { id, name, scopes = null, workspace_ids = null, expires_at = null } = input;
    const { organization_id } = (await this.accounts.requireManageable(actor, id)).account;
    const limits = { organization_id, scopes, workspace_ids, expires_at };
    return this.keyring.issue(actor, { service_account_id: id }, name, limits);
  }

  @Action('service_account_key_rotate', 'POST /api/service-accounts/:id/keys/:keyId/rotate', {
    on: { id: 'service_account' },
    summary: 'Replace a key of a service account; the old one may work on for a while',
    consequence: 'There is a new key to act as this service account.',
    permission: 'service_account.manage',
    input: RotateServiceAccountKey,
    output: CreatedKeyView,
    commitsAnswer: true,
    refuses: { 409: 'It has been rotated already' },
  })
  async rotate(
    actor: Actor,
    { id, key_id, overlap_seconds = 0 }: RotateServiceAccountKey,
  ): Promise<CreatedKeyView> {
    await this.accounts.requireManageable(actor, id);
    return this.keyring.rotate(actor, { service_account_id: id }, key_id, overlap_seconds);
  }

  @Action('service_account_key_revoke', 'DELETE /api/service-accounts/:id/keys/:keyId', {
    on: { id: 'service_account' },
    summary: 'Revoke a key of a service account, at once and for good',
    effect: 'destructive',
    consequence: 'The key never works again; programs that use it need a new one.',
    permission: 'service_account.manage',
    input: ById({ id: 'The service account', key_id: 'The key' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id, key_id }: ById<'id' | 'key_id'>): Promise<DeletedView> {
    await this.accounts.requireManageable(actor, id);
    await this.keyring.revoke(actor, { service_account_id: id }, key_id);
    return DeletedView.of(key_id);
  }
}
