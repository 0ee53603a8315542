import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ModelCatalog, ModelMetrics } from './model-catalog.js';
import { ModelSettingsStore } from './model-settings.store.js';
import { ModelSlots } from './model-slots.store.js';
import { ModelsService } from './models.service.js';
import { ResponseSchemas } from './response-check.js';

/** The language models that organizations use, and calls of them. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(ModelsService)],
  providers: [ModelCatalog, ModelMetrics, ModelSettingsStore, ModelSlots, ModelsService, ResponseSchemas],
  exports: [ModelCatalog, ModelMetrics, ModelSettingsStore, ModelSlots, ResponseSchemas],
})
export class ModelsModule {}
