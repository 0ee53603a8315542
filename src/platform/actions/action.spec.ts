import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { Action, actionOf } from './action.js';

class Nothing {}
const DETAILS = { summary: 'Do something', input: null, output: Nothing } as const;

class Service {
  @Action('thing_read', 'GET /api/things', { ...DETAILS, permission: 'file.read' })
  read() {}

  @Action('thing_write', { ...DETAILS, permission: 'file.write', effect: 'write', on: { id: 'thing' } })
  write() {}

  @Action('thing_list', { ...DETAILS, permission: 'member.list' })
  list() {}

  @Action('thing_mine', { ...DETAILS, permission: 'key.read' })
  mine() {}
}

it('has the effect and the subject of its permission', () => {
  const { read, list, mine } = Service.prototype;
  expect(actionOf(read)).toMatchObject({ route: 'GET /api/things', effect: 'read', on: 'workspace_id' });
  expect(actionOf(list)).toMatchObject({ effect: 'read', on: 'organization_id' });
  expect(actionOf(mine)).toMatchObject({ effect: 'read', on: undefined });
});

it('keeps an effect and a subject of its own', () => {
  expect(actionOf(Service.prototype.write)).toMatchObject({ effect: 'write', on: { id: 'thing' } });
});

it('says its effect where it takes no permission, and a consequence where it is grave', () => {
  expect(() => Action('thing_do', { ...DETAILS, permission: null })).toThrow(
    'neither a permission nor an effect',
  );
  expect(() => Action('thing_do', { ...DETAILS, permission: 'file.write' })).toThrow('has a consequence');
});
