import { Global, Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Rewrapping } from './rewrapping.js';
import { RootKeys } from './root-keys.js';
import { Vault } from './vault.service.js';
import { VaultStore } from './vault.store.js';

/** Secrets at rest. Its keys are there before anything that is given the vault is made. */
@Global()
@Module({
  providers: [
    VaultStore,
    { provide: RootKeys, inject: [Config, VaultStore], useFactory: RootKeys.open },
    Vault,
    Rewrapping,
  ],
  exports: [Vault],
})
export class VaultModule {}
