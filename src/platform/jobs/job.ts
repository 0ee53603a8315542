/** A kind of background job. Its name and its queue are stored with each job: never change them. */
export interface Job<Payload extends object> {
  readonly name: string;
  readonly queue: string;
  /** The fields of the payload, which are ids and short texts. */
  readonly payload: readonly (keyof Payload)[];
  /** Attempts that may fail before the job fails for good. */
  readonly attempts: number;
}

interface JobOptions<Field> {
  readonly queue: string;
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

/** One execution of a job by this process. */
export interface Attempt {
  readonly id: string;
  /** Attempts before this one that failed. */
  readonly failures: number;
  /** Attempts before this one whose process was lost. */
  readonly lost: number;
  /** Aborted when this process stops, or is out of touch for so long that another one may soon claim the job. */
  readonly signal: AbortSignal;
}

/**
 * Returns after how many milliseconds to execute the job again, or nothing where it is done. Throws where the attempt failed. It
 * is a delay because the clock of a process may be wrong.
 */
export type JobHandler<Payload> = (
  payload: Payload,
  attempt: Attempt,
) => Promise<number | undefined> | Promise<void>;

export type FailedJobHandler<Payload> = (payload: Payload) => Promise<void>;

/** A job, and the methods that handle it. */
export interface HandledJob {
  readonly job: Job<Record<string, string>>;
  readonly execute: JobHandler<Record<string, string>>;
  readonly failed?: FailedJobHandler<Record<string, string>>;
}
