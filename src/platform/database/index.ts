export {
  answeringWith,
  beforeSideEffect,
  Database,
  databaseTime,
  dryRun,
  inKeyedRequest,
  iso,
  isoOrNull,
  type KeyedRequest,
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
export { newId } from './new-id.js';
export type { Schema } from './tables.js';
