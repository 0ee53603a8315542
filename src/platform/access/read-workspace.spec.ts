import { expect, it } from '@jest/globals';
import { type Actor, type FoundWorkspace, takeWorkspace, withWorkspace } from './index.js';

const ANN = { type: 'user', id: 'ann', name: 'Ann', email: null } as Actor;
const WORKSPACE = { id: 'one', name: 'One', role: 'viewer' } as FoundWorkspace;

it('gives what was found with a caller once', () => {
  const caller = withWorkspace(ANN, 'one', WORKSPACE);
  expect(caller).toEqual(ANN);
  expect(takeWorkspace(caller, 'one')).toEqual({ id: 'one', workspace: WORKSPACE });
  expect(takeWorkspace(caller, 'one')).toBeUndefined();
});

it('tells a workspace that is not there from one that was not looked up', () => {
  expect(takeWorkspace(withWorkspace(ANN, 'one', undefined), 'one')).toEqual({
    id: 'one',
    workspace: undefined,
  });
  expect(takeWorkspace(withWorkspace(ANN, 'one', WORKSPACE), 'two')).toBeUndefined();
  expect(takeWorkspace(ANN, 'one')).toBeUndefined();
});

it('keeps what two requests of one caller found apart', () => {
  const first = withWorkspace(ANN, 'one', WORKSPACE);
  const second = withWorkspace(ANN, 'one', undefined);
  expect(takeWorkspace(second, 'one')?.workspace).toBeUndefined();
  expect(takeWorkspace(first, 'one')?.workspace).toBe(WORKSPACE);
});
