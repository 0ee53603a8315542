import { Injectable } from '@nestjs/common';
import type { TakenRun } from './run-queue.js';

/** Works on a claimed run until it has ended, waits, or `stopping` is aborted. */
export type ExecuteRun = (run: TakenRun, stopping: AbortSignal) => Promise<void>;

/** The port by which a worker hands a claimed run to whatever works on it: see `agents/turns`. */
@Injectable()
export class RunExecutor {
  execute: ExecuteRun = () => Promise.reject(new Error('Nothing executes runs'));

  register(execute: ExecuteRun): void {
    this.execute = execute;
  }
}
