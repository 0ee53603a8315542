import type { Config } from './platform/config/index.js';
import type { Log } from './platform/log/index.js';

/** The process that the service runs in. */
export interface Host {
  readonly config: Config;
  readonly log: Log;
  /** What the operator wants done instead, if anything. */
  readonly command: readonly string[];
  /** Takes what ends a part that was started; the last is ended first. */
  readonly started: (stop: () => Promise<unknown>) => void;
  /** Ends the process. */
  readonly done: () => void;
  /** Ends the process because of `error`, unless it ends already. */
  readonly failed: (error: unknown) => void;
}
