import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import type { Actor } from '../access/index.js';
import { Field } from '../dto/index.js';
import { Action, type ActionDeclaration, actionOf } from './action.js';
import { MisdeclaredAction, Subject, Subjects } from './subject.js';

class Nothing {}

class Names {
  @Field.id('A workspace', { optional: true }) workspace_id?: string;
  @Field.id('A drawer') id: string;
  @Field.text('A title', { example: 'Plan' }) title: string;
}

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const nowhere = () => ({ organization_id: null, workspace_id: null });

@Injectable()
class Stores {
  @Subject('workspace', 'workspace', (id: string) => ({
    organization_id: 'its organization',
    workspace_id: id,
  }))
  async workspace(_actor: Actor, _permission: string, id: string) {
    return id;
  }

  @Subject('drawer', 'workspace', () => ({ organization_id: null, workspace_id: 'where the drawer is' }))
  async drawer() {}

  @Subject('organization', 'organization', nowhere)
  async organization() {}
}

async function boot(more: Partial<ActionDeclaration>) {
  @Injectable()
  class Service {
    @Action('drawer_open', {
      summary: 'Open a drawer',
      permission: 'file.read',
      input: Names,
      output: Nothing,
      ...more,
    })
    async open() {}
  }

  @Module({ imports: [DiscoveryModule], providers: [Subjects, Stores, Service] })
  class Drawers {}
  const app = await NestFactory.createApplicationContext(Drawers, { logger: false, abortOnError: false });
  return { subjects: app.get(Subjects), declaration: actionOf(Service.prototype.open) };
}

it.each<[string, Partial<ActionDeclaration>]>([
  [
    'says nothing of what it is about, where a role decides and its input names no workspace',
    { input: Nothing },
  ],
  ['is on a field that its input does not have', { on: 'chat_id' }],
  ['is on a field that is no id', { on: { title: 'workspace' } }],
  ['is on something that no store answers for', { on: { id: 'cupboard' } }],
  ['is on an organization, with a permission in a workspace', { on: { id: 'organization' } }],
  ['takes no input', { on: 'workspace_id', input: null }],
])('a service does not start with an action that %s', async (_what, more) => {
  await expect(boot(more)).rejects.toThrow(MisdeclaredAction);
});

it('an action takes place where what it is on is: what is named first comes first', async () => {
  const actor = { credential: { scopes: null, workspace_ids: null } } as Actor;
  const both = { id: 'drawer', workspace_id: 'workspace' };
  const { subjects, declaration } = await boot({ on: both });
  const tenant = (input: object) => subjects.check(actor, declaration, input);
  expect(await tenant({ id: ID, title: 'x' })).toEqual({
    organization_id: null,
    workspace_id: 'where the drawer is',
  });
  expect(await tenant({ id: ID, workspace_id: ID })).toEqual({
    organization_id: 'its organization',
    workspace_id: 'where the drawer is',
  });
});

it('an action on the caller’s own things may name them without a store that answers', async () => {
  const { subjects, declaration } = await boot({ permission: 'key.read', on: { id: 'key' } });
  const actor = { credential: { scopes: null, workspace_ids: null } } as Actor;
  expect(await subjects.check(actor, declaration, { id: ID })).toEqual(nowhere());
});
