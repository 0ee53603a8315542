import type { CompiledQuery, QueryExecutor, QueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { PoolWatch } from './pool-watch.js';
import type { PreparedStatements } from './prepared-statements.js';
import { isInTransaction } from './transaction-scope.js';

/** What `pg-pool` has and its types lack. */
interface Inside {
  readonly ending: boolean;
  /** Those who wait for a connection. */
  readonly _pendingQueue: readonly unknown[];
  readonly _idle: {
    readonly client: PoolClient;
    readonly idleListener: unknown;
    timeoutId?: NodeJS.Timeout;
  }[];
  _acquireClient(
    client: PoolClient,
    asked: { callback(error: Error | undefined, client: PoolClient): void },
    idleListener: unknown,
    isNew: boolean,
  ): void;
}

/** A connection of the pool at once, where one is idle and no one waits; the caller releases it. */
function idleClient(pool: Pool | undefined): PoolClient | undefined {
  const inside = pool as (Pool & Inside) | undefined;
  if (!inside || inside.ending || inside._pendingQueue.length > 0) return undefined;
  const item = inside._idle.pop();
  if (!item) return undefined;
  clearTimeout(item.timeoutId);
  inside._acquireClient(item.client, { callback: () => undefined }, item.idleListener, false);
  return item.client;
}

/** What a statement outside transactions goes through where it need not wait for a connection. */
export interface DirectWay {
  readonly pool: () => Pool | undefined;
  readonly statements: PreparedStatements;
  readonly watch: PoolWatch | undefined;
}

/**
 * Lets statements with parameters go to an idle connection at once, outside transactions. Kysely and the pool have a promise for
 * each of their layers, which together cost more than the statement; whatever has to wait goes through all of them.
 */
export function goDirectly(executor: QueryExecutor, way: DirectWay): void {
  const ask = executor.executeQuery.bind(executor);
  const executeQuery: QueryExecutor['executeQuery'] = (query, options) => {
    const mayGo = query.parameters.length > 0 && !options?.signal && !isInTransaction();
    const client = mayGo ? idleClient(way.pool()) : undefined;
    return client ? execute(query, client, way) : ask(query, options);
  };
  Object.assign(executor, { executeQuery });
}

async function execute<R>(
  { sql, parameters }: CompiledQuery,
  client: PoolClient,
  { statements, watch }: DirectWay,
): Promise<QueryResult<R>> {
  watch?.moved();
  try {
    const { command, rowCount, rows } = await statements.ask(client, sql, parameters);
    return { rows, ...(CHANGES.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
  } catch (error) {
    throw tracedTo(error, new Error());
  } finally {
    watch?.moved();
    client.release();
  }
}

/** Commands that say how many rows they changed. */
const CHANGES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** An error of the server says where it was read; this adds who asked. */
function tracedTo(error: unknown, here: Error): unknown {
  if (error instanceof Error) error.stack += `\n${here.stack?.split('\n').slice(1).join('\n')}`;
  return error;
}
