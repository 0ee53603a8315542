/** Where jobs wait, and how a process executes them. The name is stored with each job: never change it. */
export interface Queue {
  readonly name: string;
  /** Jobs that one process executes at a time. */
  readonly concurrency?: number;
  /** After so long without a heartbeat of its worker, a job is given to another one. */
  readonly lockDuration?: number;
  readonly stalledInterval?: number;
  readonly maxStalledCount?: number;
}

/** A kind of background job. Its name is stored with each job: never change it. */
export interface Job<Payload extends object> {
  readonly name: string;
  readonly queue: Queue;
  /** The fields of the payload, which are ids and short texts. */
  readonly payload: readonly (keyof Payload)[];
  /** Attempts that may fail before the job fails for good. */
  readonly attempts: number;
}

interface JobOptions<Field> {
  readonly queue: Queue;
  readonly payload: readonly Field[];
  readonly attempts?: number;
}

/** Some eight minutes: a database or a disk that is away for a while is no reason to forget a job. */
const DEFAULT_ATTEMPTS = 10;
const BACKOFF_MS = 1000;
const MAX_DOUBLINGS = 10;

const defined = new Map<string, Job<never>>();

export function defineJob<const Field extends string>(
  name: string,
  { queue, payload, attempts = DEFAULT_ATTEMPTS }: JobOptions<Field>,
): Job<Record<Field, string>> {
  if (defined.has(name)) throw new Error(`The job ${name} is defined twice`);
  const job = { name, queue, payload, attempts };
  defined.set(name, job as Job<never>);
  return job;
}

/** Every job of the modules that are loaded. */
export const definedJobs = (): Job<never>[] => [...defined.values()];

/** How long after so many failures the next attempt comes. */
export const backoffMs = (failures: number): number =>
  BACKOFF_MS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS);
