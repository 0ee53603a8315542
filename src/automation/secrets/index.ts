export { SecretMask } from './secret-mask.js';
export { secretNameFault } from './secret-names.js';
export { SecretsModule } from './secrets.module.js';
export { SecretsStore } from './secrets.store.js';
