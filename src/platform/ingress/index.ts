export { Ingress, type PublicHosts } from './ingress.js';
