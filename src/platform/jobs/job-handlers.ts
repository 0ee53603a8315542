import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { providerMethods } from '../discovery/index.js';
import { definedJobs, type Job } from './job.js';
import { type FailedJobHandler, failedJobOf, type JobHandler, jobOf } from './on-job.js';

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
