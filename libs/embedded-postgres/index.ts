export { EmbeddedPostgresError } from './embedded-postgres-error.js';
export { findRunningPostgres } from './running-postgres.js';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type PostgresConnection,
  type PostgresExit,
  startPostgres,
} from './start-postgres.js';
