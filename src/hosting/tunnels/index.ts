export { TunnelsModule } from './tunnels.module.js';
