export { EgressModule } from './egress.module.js';
export { EgressStore } from './egress.store.js';
export { type EgressList, EgressSockets } from './egress-sockets.js';
