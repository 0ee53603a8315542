export { ServiceAccount } from './service-account.entity.js';
export { ServiceAccountsModule } from './service-accounts.module.js';
