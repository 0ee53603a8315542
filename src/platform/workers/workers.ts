import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { PoolBusy, type Task, TookTooLong, WorkerPool } from '#libs/worker-pool/index.js';
import { translateErrors, Unavailable } from '../errors/index.js';

translateErrors(PoolBusy, () => new Unavailable('There is too much to do at the moment; try again later'));

/** Threads for all that is too heavy for the event loop, of all callers together. */
const THREADS = 2;
const MAX_WAIT_MS = 10 * 60_000;

/** Runs work whose time its input decides in other threads, each call within a deadline, so that requests never wait for it. */
@Injectable()
export class Workers implements OnApplicationShutdown {
  private readonly pool = new WorkerPool({ size: THREADS });

  /** The result of a task. Rejects with TookTooLong after `ms` of work, and with PoolBusy (503) where it cannot begin. */
  run<T>(task: Task, input: unknown, ms: number): Promise<T> {
    return this.pool.run<T>(task, input, ms);
  }

  /** As {@link run}, for work whose failure would end something long: it waits for minutes rather than not to begin. */
  patiently<T>(task: Task, input: unknown, ms: number): Promise<T> {
    return this.pool.run<T>(task, input, ms, MAX_WAIT_MS);
  }

  /** As {@link run}; undefined where that cannot be had in time, for those who can do without. */
  async attempt<T>(task: Task, input: unknown, ms: number): Promise<T | undefined> {
    try {
      return await this.run<T>(task, input, ms);
    } catch (error) {
      if (error instanceof TookTooLong || error instanceof PoolBusy) return undefined;
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.close();
  }
}

/** A function of a module that lies in `src` or `libs`, by its path there without an ending: threads load what was built. */
export function task(module: string, name: string): Task {
  return { module: pathToFileURL(path.join(root(), 'dist', `${module}.js`)).href, name };
}

/** The project's folder, above this file as it was written or as it was built. */
function root(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) folder = path.dirname(folder);
  return folder;
}
