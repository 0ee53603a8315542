/** Where the database is, as the `pg` driver takes it: an address, or the folder of a Unix socket as `host`. */
export abstract class DatabaseConnection {
  abstract readonly connectionString: string;
}
