export { EmbeddedPostgresError } from './embedded-postgres-error.js';
export type { PostgresExit } from './postmaster.js';
export { findRunningPostgres } from './running-postgres.js';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type PostgresConnection,
  startPostgres,
} from './start-postgres.js';
