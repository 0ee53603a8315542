/**
 * For an application server on a small machine: PostgreSQL is one of several programs there, mostly idle, and
 * its clients are pools of one application. Each value can be overridden.
 */
const base: Record<string, string> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '64MB',
  effective_cache_size: '512MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  // Fewer resident processes: reads go through the kernel's cache here, and nothing replicates.
  io_method: 'sync',
  max_wal_senders: '0',
  wal_level: 'minimal',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '1',
  jit: 'off',
  // A bounded log on a small disk, and few checkpoints.
  min_wal_size: '64MB',
  max_wal_size: '512MB',
  wal_compression: 'on',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  autovacuum_naptime: '5min',
  bgwriter_lru_maxpages: '0',
  // A client whose machine has vanished must not hold locks for hours.
  client_connection_check_interval: '10s',
  // The log goes to standard error, in English whatever the locale: readiness is read from it.
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  lc_messages: 'C',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** For tests: what has been committed may be lost when the machine (not the process) crashes. */
const volatile: Record<string, string> = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum_naptime: '1h',
};

/** `-c name=value` for each setting, in the order defaults, durability, the caller's own. */
export function settingArguments(durable: boolean, own: Record<string, string>): string[] {
  const settings = { ...base, ...(durable ? {} : volatile), ...own };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
