import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { Action } from './action.js';
import { ActionCatalog, DuplicateAction } from './action-catalog.js';

class Nothing {}
const DETAILS = {
  summary: 'Do something',
  effect: 'read',
  permission: null,
  input: null,
  output: Nothing,
} as const;

@Injectable()
class First {
  @Action('thing_do', DETAILS)
  async act() {
    return { by: this.constructor.name };
  }

  @Action('thing_stream', { ...DETAILS, restOnly: true })
  async stream() {
    return {};
  }
}

@Injectable()
class Second {
  @Action('thing_do', DETAILS)
  async actAgain() {
    return {};
  }
}

function boot(...providers: Type[]) {
  @Module({ imports: [DiscoveryModule], providers: [ActionCatalog, ...providers] })
  class Service {}
  return NestFactory.createApplicationContext(Service, { logger: false, abortOnError: false });
}

it('gathers what the providers declare, but for what is served over HTTP alone', async () => {
  const app = await boot(First);
  const catalog = app.get(ActionCatalog);
  expect(catalog.list().map(({ name, title }) => [name, title])).toEqual([['thing_do', 'Thing do']]);
  const actor = {} as never;
  expect(await catalog.require('thing_do').invoke(actor, {})).toEqual({ by: 'First' });
  expect(() => catalog.require('thing_stream')).toThrow('There is no action thing_stream');
  await app.close();
});

it('does not let a service start in which two methods declare the same action', async () => {
  await expect(boot(First, Second)).rejects.toThrow(DuplicateAction);
});
