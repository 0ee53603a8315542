export { type CallableModel, estimateUsd, ModelCatalog, ModelMetrics } from './model-catalog.js';
export { ModelSlots } from './model-slots.store.js';
export { MODEL } from './models.dto.js';
export { ModelsModule } from './models.module.js';
export { ModelsService, ModelUnusable } from './models.service.js';
export { MAX_REPAIRS, ResponseCheck, ResponseSchemas, schemaFailed } from './response-check.js';
