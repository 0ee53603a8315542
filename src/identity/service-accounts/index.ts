export { ServiceAccountsModule } from './service-accounts.module.js';
export { ServiceAccountsStore } from './service-accounts.store.js';
