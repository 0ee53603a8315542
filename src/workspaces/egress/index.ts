export { EgressModule } from './egress.module.js';
export { EgressStore } from './egress.store.js';
export { EgressSockets } from './egress-sockets.js';
