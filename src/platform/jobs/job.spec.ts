/** @isolated It defines a job, which every service would have that starts later in this process. */
import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { defineJob, JobHandlers, OnFailedJob, OnJob } from './job.js';

const greet = defineJob('greet', { queue: { name: 'letters' }, payload: ['name'] });

class Greeter {
  readonly greeted: string[] = [];

  @OnJob(greet)
  async greet({ name }: { name: string }): Promise<void> {
    this.greeted.push(name);
  }

  @OnFailedJob(greet)
  async regret({ name }: { name: string }): Promise<void> {
    this.greeted.push(`not ${name}`);
  }
}

class SecondGreeter {
  @OnJob(greet)
  async greetToo(): Promise<void> {}
}

class Bystander {
  async greet(): Promise<void> {}
}

function boot(...providers: (new () => object)[]) {
  @Module({ imports: [DiscoveryModule], providers: [JobHandlers, ...providers] })
  class TestModule {}
  return NestFactory.createApplicationContext(TestModule, { logger: false, abortOnError: false });
}

it('finds the method that handles a job, and the one that is told of its failure', async () => {
  const module = await boot(Greeter, Bystander);
  const { job, execute, failed } = module.get(JobHandlers).find('greet') ?? {};
  await execute?.({ name: 'Ada' }, {} as never);
  await failed?.({ name: 'Bob' });
  expect([job, module.get(Greeter).greeted]).toEqual([greet, ['Ada', 'not Bob']]);
});

it('does not start with a job that nothing handles', async () => {
  await expect(boot(Bystander)).rejects.toThrow('The job greet has no handler');
});

it('does not start with a job that two methods handle', async () => {
  await expect(boot(Greeter, SecondGreeter)).rejects.toThrow('The job greet has two handlers');
});

it('refuses two jobs of the same name', () => {
  expect(() => defineJob('greet', { queue: { name: 'other' }, payload: [] })).toThrow('defined twice');
});
