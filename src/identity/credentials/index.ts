export { CredentialsModule } from './credentials.module.js';
