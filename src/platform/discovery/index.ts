export { providerMethods } from './provider-methods.js';
