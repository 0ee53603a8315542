import path from 'node:path';
import { type Account, accountFor } from './account.js';
import { type Binaries, findBinaries } from './binaries.js';
import { requireCluster } from './cluster.js';
import { requireDatabase } from './database.js';
import { explainError } from './failure.js';
import { stopOrphan } from './orphan.js';
import { lockForThisProcess, type OwnerLock } from './owner-lock.js';
import { type PostgresExit, Postmaster } from './postmaster.js';
import { makePassableFolder, withReach } from './reach.js';
import { settingArguments } from './settings.js';
import { chooseSocketFolder, discardSocketFolder, prepareSocketFolder, socketPort } from './socket-folder.js';

export type { PostgresExit } from './postmaster.js';

export interface EmbeddedPostgresOptions {
  /** Made where it is missing; its parent also holds a lock file and a folder `run` with the socket. */
  dataDir: string;
  /** Made where it is missing, owned by a role of the same name. */
  database: string;
  /** PostgreSQL settings that override this library's defaults. */
  settings?: Record<string, string>;
  /** Gets each line of PostgreSQL's log. */
  log?: (line: string) => void;
  /** False for tests: faster, and a crash of the machine (not of the process) may lose data. Default true. */
  durable?: boolean;
}

export interface PostgresConnection {
  /** The folder of the Unix socket. */
  host: string;
  port: number;
  user: string;
  database: string;
  /** Never set: the socket's folder is open to one account only. */
  password?: string;
}

export interface EmbeddedPostgres {
  connection: PostgresConnection;
  /** The same as a `postgresql://` address, the socket folder percent-encoded as its host. */
  url: string;
  pid: number;
  /** Settles when PostgreSQL has ended, for whatever reason; never rejects. */
  exited: Promise<PostgresExit>;
  /** Ends PostgreSQL cleanly and lets go of the data folder; may be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL that belongs to this process: it ends with it, also on SIGKILL (Linux with util-linux).
 * @throws EmbeddedPostgresError with one sentence that says what to do.
 */
export async function startPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  try {
    const binaries = findBinaries();
    const account = withReach(accountFor(dataDir), [binaries.postgres, path.dirname(dataDir)]);
    makePassableFolder(account, path.dirname(dataDir));
    const socketFolder = chooseSocketFolder(dataDir);
    const lock = lockDataDir(dataDir, socketFolder);
    return await startOwned({ ...options, dataDir }, { binaries, account, socketFolder, lock });
  } catch (error) {
    throw explainError('start', dataDir, error);
  }
}

interface Ground {
  binaries: Binaries;
  account: Account;
  socketFolder: string;
  lock: OwnerLock;
}

function lockDataDir(dataDir: string, socketFolder: string): OwnerLock {
  try {
    return lockForThisProcess(`${dataDir}.lock`, socketFolder);
  } catch (error) {
    discardSocketFolder(socketFolder);
    throw error;
  }
}

async function startOwned(options: EmbeddedPostgresOptions, ground: Ground): Promise<EmbeddedPostgres> {
  const { socketFolder: host, lock } = ground;
  const letGo = () => {
    discardSocketFolder(host);
    lock.release();
  };
  let postmaster: Postmaster | undefined;
  try {
    postmaster = await launch(options, ground);
    await requireDatabase(host, socketPort, options.database);
    return handle(postmaster, host, options.database, letGo);
  } catch (error) {
    await postmaster?.stop();
    letGo();
    throw error;
  }
}

async function launch(options: EmbeddedPostgresOptions, ground: Ground): Promise<Postmaster> {
  const { binaries, account, socketFolder, lock } = ground;
  const { dataDir, durable = true, settings = {}, log = () => undefined } = options;
  await requireCluster(binaries, account, dataDir, durable);
  await stopOrphan(binaries, account, dataDir);
  if (lock.abandoned) discardSocketFolder(lock.abandoned.socketFolder);
  prepareSocketFolder(socketFolder, account);
  const place = { unix_socket_directories: quoteList(socketFolder), port: String(socketPort) };
  const parameters = settingArguments(durable, { ...settings, ...place });
  return Postmaster.launch(binaries, account, dataDir, parameters, log);
}

/** The setting is a comma-separated list; quotes keep a path with a comma or a blank in one piece. */
function quoteList(folder: string): string {
  return `"${folder.replaceAll('"', '""')}"`;
}

export function addressOf(socketFolder: string, database: string): string {
  const user = encodeURIComponent(database);
  return `postgresql://${user}@${encodeURIComponent(socketFolder)}:${socketPort}/${user}`;
}

function handle(postmaster: Postmaster, host: string, database: string, letGo: () => void): EmbeddedPostgres {
  const stopOnExit = () => postmaster.interrupt();
  process.once('exit', stopOnExit);
  const ended = postmaster.exited.then(exit => {
    process.off('exit', stopOnExit);
    letGo();
    return exit;
  });
  return {
    connection: { host, port: socketPort, user: database, database },
    url: addressOf(host, database),
    pid: postmaster.pid,
    exited: ended,
    async stop() {
      await postmaster.stop();
      await ended;
    },
  };
}
