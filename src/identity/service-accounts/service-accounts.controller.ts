import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ServiceAccountKeysService } from './service-account-keys.service.js';
import {
  CreateServiceAccount,
  CreateServiceAccountKey,
  ListServiceAccountKeys,
  ListServiceAccounts,
  RotateServiceAccountKey,
  ServiceAccountId,
  ServiceAccountKeyId,
  UpdateServiceAccount,
} from './service-accounts.dto.js';
import { ServiceAccountsService } from './service-accounts.service.js';

const ACCOUNTS = '/api/service-accounts';

@Controller()
export class ServiceAccountsController {
  constructor(
    private readonly accounts: ServiceAccountsService,
    private readonly keys: ServiceAccountKeysService,
  ) {}

  @Serves(ServiceAccountsService, 'list')
  @Get(ACCOUNTS)
  list(@Caller() actor: Actor, @Input() input: ListServiceAccounts) {
    return this.accounts.list(actor, input);
  }

  @Serves(ServiceAccountsService, 'create')
  @Post(ACCOUNTS)
  create(@Caller() actor: Actor, @Input() input: CreateServiceAccount) {
    return this.accounts.create(actor, input);
  }

  @Serves(ServiceAccountsService, 'read')
  @Get(`${ACCOUNTS}/:id`)
  read(@Caller() actor: Actor, @Input() input: ServiceAccountId) {
    return this.accounts.read(actor, input);
  }

  @Serves(ServiceAccountsService, 'update')
  @Patch(`${ACCOUNTS}/:id`)
  update(@Caller() actor: Actor, @Input() input: UpdateServiceAccount) {
    return this.accounts.update(actor, input);
  }

  @Serves(ServiceAccountsService, 'adopt')
  @Post(`${ACCOUNTS}/:id/adopt`)
  adopt(@Caller() actor: Actor, @Input() input: ServiceAccountId) {
    return this.accounts.adopt(actor, input);
  }

  @Serves(ServiceAccountsService, 'delete')
  @Delete(`${ACCOUNTS}/:id`)
  delete(@Caller() actor: Actor, @Input() input: ServiceAccountId) {
    return this.accounts.delete(actor, input);
  }

  @Serves(ServiceAccountKeysService, 'list')
  @Get(`${ACCOUNTS}/:id/keys`)
  listKeys(@Caller() actor: Actor, @Input() input: ListServiceAccountKeys) {
    return this.keys.list(actor, input);
  }

  @Serves(ServiceAccountKeysService, 'create')
  @Post(`${ACCOUNTS}/:id/keys`)
  createKey(@Caller() actor: Actor, @Input() input: CreateServiceAccountKey) {
    return this.keys.create(actor, input);
  }

  @Serves(ServiceAccountKeysService, 'rotate')
  @Post(`${ACCOUNTS}/:id/keys/:keyId/rotate`)
  rotateKey(@Caller() actor: Actor, @Input() input: RotateServiceAccountKey) {
    return this.keys.rotate(actor, input);
  }

  @Serves(ServiceAccountKeysService, 'revoke')
  @Delete(`${ACCOUNTS}/:id/keys/:keyId`)
  revokeKey(@Caller() actor: Actor, @Input() input: ServiceAccountKeyId) {
    return this.keys.revoke(actor, input);
  }
}
