export { EgressModule } from './egress.module.js';
export { EgressSockets } from './egress-sockets.js';
