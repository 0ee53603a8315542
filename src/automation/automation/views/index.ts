export * from './automations.dto.js';
export { DeploymentViews } from './deployment-views.js';
export { inSnakeCase } from './snake-case.js';
