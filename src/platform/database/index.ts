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
  UnitOfWork,
} from './database.js';
export {
  CHORE_QUERY_MS,
  DatabaseConnection,
  DatabaseModule,
  ormOptions,
  REQUEST_QUERY_MS,
} from './database.module.js';
export { migrate } from './migrate.js';
export type { Schema } from './tables.js';
