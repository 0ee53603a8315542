import { SandboxRefusal } from './errors.js';

/** What one command may use. `Infinity` lifts a limit. */
export interface SandboxLimits {
  /** Memory of all its processes together, files in /tmp included where a control group counts it. */
  memoryBytes: number;
  /** Processes and threads at one time. */
  processes: number;
  /** CPU time of each process. */
  cpuSeconds: number;
  /** Time from start to end. */
  wallMs: number;
  /**
   * Output that is kept, both streams together; 64 times as much ends the command. With `Infinity` all
   * of it goes to `onOutput` and only the beginning is kept, which suits servers that run for weeks.
   */
  outputBytes: number;
  /** Size of each file it writes. */
  fileBytes: number;
  /** Files and sockets that each process has open. */
  openFiles: number;
  /** Space in its private /tmp. */
  tmpBytes: number;
}

const MiB = 1024 * 1024;

export const defaultLimits: SandboxLimits = {
  memoryBytes: 1024 * MiB,
  processes: 256,
  cpuSeconds: 120,
  wallMs: 120_000,
  outputBytes: MiB,
  fileBytes: 1024 * MiB,
  openFiles: 1024,
  tmpBytes: 256 * MiB,
};

/** The defaults with the caller's changes. Fractions are rounded up. */
export function resolveLimits(changes: Partial<SandboxLimits> = {}): SandboxLimits {
  const limits = { ...defaultLimits };
  for (const name of Object.keys(defaultLimits) as (keyof SandboxLimits)[]) {
    const value = changes[name];
    if (value === undefined) continue;
    if (!(value > 0)) throw new SandboxRefusal(`The limit ${name} must be a positive number`);
    limits[name] = Math.ceil(value);
  }
  return limits;
}
