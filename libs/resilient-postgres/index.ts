export { CONNECTION_SETTINGS, PreparingClient, ResilientClient } from './client.js';
export { QUERY_MS, within, withQueryDeadline } from './deadline.js';
export { type PoolRules, ResilientDriver } from './driver.js';
export { isDatabaseFull, isDeadlock, isOrphan, isOutage } from './outage.js';
export { poolEnd } from './pool-end.js';
export { type PoolCounts, PoolWatch } from './pool-watch.js';
export { inTransaction, SecondConnection } from './transaction-scope.js';
