export { CONNECTION_SETTINGS, DatabaseClient, DatabaseConnection } from './client.js';
export {
  answeringWith,
  beforeSideEffect,
  Database,
  dryRun,
  inKeyedRequest,
  iso,
  isoOrNull,
  type KeyedRequest,
  keyedRequest,
  newId,
  RequestLost,
  type Row,
  storable,
  storableText,
  UnitOfWork,
} from './database.js';
export { DatabaseModule, ormOptions } from './database.module.js';
export { migrate } from './migrate.js';
export { isDatabaseFull, isOrphan, isOutage } from './outage.js';
export {
  CHORE_QUERY_MS,
  type PoolCounts,
  PoolWatch,
  QUERY_MS,
  REQUEST_QUERY_MS,
  SecondConnection,
  within,
  withQueryDeadline,
} from './pool.js';
export type { Schema } from './tables.js';
