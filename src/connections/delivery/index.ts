export { type CredentialUser, DeliveredRules } from './delivered-rules.js';
export { DeliveryModule } from './delivery.module.js';
