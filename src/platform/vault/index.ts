export { KeyRing } from './key-ring.js';
export { rewrapAll, verifyAll } from './rewrapping.js';
export { RootKey, RootKeys, SETTLE_MS, settled } from './root-keys.js';
export { VaultModule } from './vault.module.js';
export { type OpenedSecret, type Seal, Secret, Vault } from './vault.service.js';
export { VaultStore } from './vault.store.js';
