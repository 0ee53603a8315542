export { isAlive } from './is-alive.js';
export { Maintenance } from './maintenance.js';
export { MaintenanceModule } from './maintenance.module.js';
