/** Where the database is, as the `pg` driver takes it: an address, or the folder of a Unix socket as `host`. */
export abstract class DatabaseConnection {
  abstract readonly connectionString: string;
  /** Whether a transaction that asks for a second connection fails, as in tests; else it is only logged. */
  readonly refusesSecondConnections?: boolean;
}
