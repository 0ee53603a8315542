import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/index.js';
import { Keyring } from './keyring.js';
import { KeysController } from './keys.controller.js';
import { KeysService } from './keys.service.js';

/** API keys. */
@Module({
  imports: [OrganizationsModule],
  controllers: [KeysController],
  providers: [Keyring, KeysService],
  exports: [Keyring, KeysService],
})
export class KeysModule {}
