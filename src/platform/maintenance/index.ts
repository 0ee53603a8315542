export { Maintenance } from './maintenance.js';
export { MaintenanceModule } from './maintenance.module.js';
