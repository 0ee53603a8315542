export { type ProviderMethod, providerMethods } from './provider-methods.js';
