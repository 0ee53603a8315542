export { type CallableModel, estimateUsd, ModelCatalog } from './model-catalog.js';
export { ModelMetrics } from './model-metrics.js';
export { ModelSlots } from './model-slots.js';
export { MODEL } from './models.dto.js';
export { ModelsModule } from './models.module.js';
export { ModelsService, ModelUnusable } from './models.service.js';
export { MOST_REPAIRS, ResponseCheck, ResponseSchemas, schemaFailed } from './response-check.js';
