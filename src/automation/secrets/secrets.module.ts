import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { SecretsService } from './secrets.service.js';
import { SecretsStore } from './secrets.store.js';

/** Secrets of workspaces. */
@Module({
  imports: [CoreModule],
  controllers: [RoutesOf(SecretsService)],
  providers: [SecretsService, SecretsStore],
  exports: [SecretsStore],
})
export class SecretsModule {}
