export { PoolBusy, type Task, TookTooLong, WorkerPool } from './worker-pool.js';
