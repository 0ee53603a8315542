export { serverCrashed, serverFailed } from './records/server-events.js';
export { TunnelsModule } from './tunnels.module.js';
