export { EgressModule } from './egress.module.js';
export { EgressSockets, type OpenEgress } from './egress-sockets.js';
