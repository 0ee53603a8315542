export { ExposedWebhooks } from './exposed-webhooks.js';
export { ForgedSignatures } from './forged-signatures.js';
export { HooksController } from './hooks.controller.js';
export { HooksStore } from './hooks.store.js';
export { WebhookIntake } from './webhook-intake.js';
export { WebhookRotation } from './webhook-rotation.service.js';
export { WebhookSecrets } from './webhook-secrets.js';
export { WebhookSetup } from './webhook-setup.js';
