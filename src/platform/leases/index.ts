export { HeartbeatPool } from './heartbeat-pool.js';
export { LeasedRows } from './leased-rows.js';
export { Leases } from './leases.js';
export { LeasesModule } from './leases.module.js';
export { LeaseLost, type NamedLease, NamedLeases } from './named-leases.js';
