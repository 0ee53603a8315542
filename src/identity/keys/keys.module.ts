import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { Keyring } from './keyring.js';
import { KeysService } from './keys.service.js';
import { KeysStore } from './keys.store.js';

/** API keys. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(KeysService)],
  providers: [Keyring, KeysService, KeysStore],
  exports: [Keyring, KeysService],
})
export class KeysModule {}
