import type { Job } from './job.js';

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

/** Returns when to execute the job again, or nothing where it is done. Throws where the attempt failed. */
export type JobHandler<Payload> = (
  payload: Payload,
  attempt: Attempt,
) => Promise<Date | undefined> | Promise<void>;

export type FailedJobHandler<Payload> = (payload: Payload) => Promise<void>;

const HANDLES = Symbol('handles');
const HANDLES_FAILED = Symbol('handles-failed');

/** The method executes the job. Each job has exactly one such method; else the service does not start. */
export function OnJob<Payload extends object>(job: Job<Payload>) {
  return (_target: object, _name: string, { value }: { value?: JobHandler<Payload> }): void => {
    if (value) Reflect.defineMetadata(HANDLES, job, value);
  };
}

/** The method is called before the job fails for good. */
export function OnFailedJob<Payload extends object>(job: Job<Payload>) {
  return (_target: object, _name: string, { value }: { value?: FailedJobHandler<Payload> }): void => {
    if (value) Reflect.defineMetadata(HANDLES_FAILED, job, value);
  };
}

export const jobOf = (method: object): Job<never> | undefined => Reflect.getMetadata(HANDLES, method);
export const failedJobOf = (method: object): Job<never> | undefined =>
  Reflect.getMetadata(HANDLES_FAILED, method);
