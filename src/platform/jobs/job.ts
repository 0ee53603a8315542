import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { providerMethods } from '../discovery/index.js';

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

type Payload = Record<string, string>;

/** A job, and the methods that handle it. */
export interface HandledJob {
  readonly job: Job<Payload>;
  readonly execute: JobHandler<Payload>;
  readonly failed?: FailedJobHandler<Payload>;
}

/** Finds the handler of every job at boot. */
@Injectable()
export class JobHandlers implements OnModuleInit {
  private readonly handled = new Map<string, HandledJob>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    const executing = new Map<string, JobHandler<Payload>>();
    const failing = new Map<string, FailedJobHandler<Payload>>();
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const [executed, failed] = [jobOf(method), failedJobOf(method)];
      if (executed) addOnce(executing, executed, method.bind(instance) as JobHandler<Payload>);
      if (failed) addOnce(failing, failed, method.bind(instance) as FailedJobHandler<Payload>);
    }
    for (const job of definedJobs()) {
      const execute = executing.get(job.name);
      if (!execute)
        throw new Error(`The job ${job.name} has no handler: no provider has a method with @OnJob`);
      this.handled.set(job.name, { job: job as never, execute, failed: failing.get(job.name) });
    }
  }

  all(): HandledJob[] {
    return [...this.handled.values()];
  }

  find(name: string): HandledJob | undefined {
    return this.handled.get(name);
  }
}

function addOnce<Handler>(handlers: Map<string, Handler>, job: Job<never>, handler: Handler): void {
  if (handlers.has(job.name)) throw new Error(`The job ${job.name} has two handlers; it takes one`);
  handlers.set(job.name, handler);
}
