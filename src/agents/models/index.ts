export { type CallableModel, estimateUsd, ModelCatalog, ModelMetrics } from './model-catalog.js';
export { ModelSettingsStore, ModelUnusable } from './model-settings.store.js';
export { ModelSlots } from './model-slots.store.js';
export { MODEL } from './models.dto.js';
export { ModelsModule } from './models.module.js';
export { MAX_REPAIRS, ResponseSchemas, schemaFailed } from './response-check.js';
