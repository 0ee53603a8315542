import path from 'node:path';
import { MikroORM } from '@mikro-orm/postgresql';
import { findRunningPostgres, startPostgres } from '#libs/embedded-postgres/index.js';
import { migrations } from './migrations.js';
import { CannotStart, Config } from './platform/config/index.js';
import { Database, migrate, ormOptions } from './platform/database/index.js';
import { survivesLostOutput } from './platform/log/index.js';
import { KeyRing, RootKeys, rewrapAll, VaultStore, verifyAll } from './platform/vault/index.js';
import { requireDataDir, sentenceFor } from './start-failure.js';

/** `node dist/bundle/vault.js COMMAND`: upkeep of the vault, also while the service runs. See docs/vault.md. */
const commands: Record<string, (config: Config, store: VaultStore, keyId: string) => Promise<boolean>> = {
  rotate,
  verify,
  forget,
};

const USAGE = 'Use one of: vault.js rotate | verify | forget KEY_ID';

/** Brings every secret under a new first key. */
async function rotate(config: Config, store: VaultStore): Promise<boolean> {
  const roots = await RootKeys.open(config, store);
  const { ring } = roots;
  if (ring.file) ring.file.addFirst();
  else if (ring.ids.length === 1)
    throw new CannotStart(
      'VAULT_KEYS has one key only. Put a new one first (id:base64 of 32 random bytes), keep this one behind it, start ' +
        'every process with both, and rotate again.',
    );
  await roots.reload();
  const { done, failures } = await rewrapAll(store, ring);
  say(`${done} secrets were rewrapped; the key "${ring.first.id}" wraps them now.`);
  return report(failures);
}

/** Opens every secret. */
async function verify(config: Config, store: VaultStore): Promise<boolean> {
  const ring = KeyRing.open(config, await store.neededKey([]));
  for (const { id, secrets } of await store.countByKey())
    say(`${id}: ${secrets} secrets${ring.ids.includes(id) ? '' : ' (this key is missing)'}`);
  const { done, failures } = await verifyAll(store, ring);
  say(`${done} secrets open, ${failures.length} do not.`);
  return report(failures);
}

/** Gives up what is sealed with a key that is lost for good. */
async function forget(_config: Config, store: VaultStore, keyId: string): Promise<boolean> {
  if (!keyId) throw new CannotStart(USAGE);
  const count = await store.database.transaction(unit => store.deleteOfKey(unit, keyId));
  say(`${count} secrets that were sealed with the key "${keyId}" are deleted.`);
  return true;
}

function report(failures: readonly Error[]): boolean {
  for (const { message } of failures) say(message);
  return failures.length === 0;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

async function withDatabase(config: Config, work: (connectionString: string) => Promise<boolean>) {
  const dataDir = path.join(config.dataDir, 'postgres');
  const running = config.databaseUrl ?? findRunningPostgres(dataDir, 'atelier');
  if (running) return work(running);
  const postgres = await startPostgres({ dataDir, database: 'atelier' });
  try {
    return await work(postgres.url);
  } finally {
    await postgres.stop();
  }
}

async function withStore(connectionString: string, work: (store: VaultStore) => Promise<boolean>) {
  await migrate(connectionString, migrations);
  const orm = await MikroORM.init(ormOptions(connectionString, [], 2));
  try {
    return await work(new VaultStore(new Database(orm.em)));
  } finally {
    await orm.close(true);
  }
}

survivesLostOutput();
const [name = '', keyId = ''] = process.argv.slice(2);
try {
  const command = commands[name];
  if (!command) throw new CannotStart(USAGE);
  const config = Config.from(process.env);
  requireDataDir(config);
  const isFine = await withDatabase(config, url => withStore(url, store => command(config, store, keyId)));
  process.exitCode = isFine ? 0 : 1;
} catch (error) {
  process.stderr.write(`${sentenceFor(error) ?? String(error)}\n`);
  process.exitCode = 1;
}
