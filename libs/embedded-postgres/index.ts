export { EmbeddedPostgresError } from './embedded-postgres-error.js';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type PostgresConnection,
  type PostgresExit,
  startPostgres,
} from './start-postgres.js';
