/** @isolated It defines a job, which every service would have that starts later in this process. */
import { expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Log } from '../log/index.js';
import { defineJob } from './job.js';
import { JobStore } from './job.store.js';
import { JobHandlers } from './job-handlers.js';
import { JobProcessor } from './job-processor.js';
import { JobRunner } from './job-runner.js';

const greet = defineJob('greet', { queue: 'letters', payload: ['name'] });

@Injectable()
class Letters extends JobProcessor {
  readonly greeted: string[] = [];

  constructor(runner: JobRunner) {
    super(runner);
    this.handle(
      greet,
      async ({ name }) => void this.greeted.push(name),
      async ({ name }) => void this.greeted.push(`not ${name}`),
    );
  }
}

@Injectable()
class OtherLetters extends Letters {}

function boot(...processors: (new (runner: JobRunner) => JobProcessor)[]) {
  @Module({
    providers: [
      JobHandlers,
      JobRunner,
      ...processors,
      { provide: JobStore, useValue: {} },
      { provide: Log, useValue: {} },
    ],
  })
  class TestModule {}
  return NestFactory.createApplicationContext(TestModule, { logger: false, abortOnError: false });
}

it('finds the method that handles a job, and the one that is told of its failure', async () => {
  const module = await boot(Letters);
  const { job, execute, failed } = module.get(JobHandlers).find('greet') ?? {};
  await execute?.({ name: 'Ada' }, {} as never);
  await failed?.({ name: 'Bob' });
  expect([job, module.get(Letters).greeted]).toEqual([greet, ['Ada', 'not Bob']]);
});

it('does not start with a job that nothing handles', async () => {
  await expect(boot()).rejects.toThrow('The job greet has no handler');
});

it('does not start with a job that two methods handle', async () => {
  await expect(boot(Letters, OtherLetters)).rejects.toThrow('The job greet has two handlers');
});

it('refuses two jobs of the same name', () => {
  expect(() => defineJob('greet', { queue: 'other', payload: [] })).toThrow('defined twice');
});
