import { SandboxRefusal } from './errors.js';
import { checkRequest, effectiveOwner, relativeFolder } from './request.js';

describe('a request', () => {
  it('may start in a folder inside the workspace only', () => {
    expect(relativeFolder()).toBe('.');
    expect(relativeFolder('a/../b/')).toBe('b/');
    for (const folder of ['..', '../x', 'a/../../x', '/etc', 'a\0b']) {
      expect(() => relativeFolder(folder)).toThrow(SandboxRefusal);
    }
  });

  it('needs an absolute workspace, a command and proper variables', () => {
    const request = { workspace: '/w', argv: ['true'] };
    expect(() => checkRequest({ ...request, workspace: 'w' })).toThrow('absolute');
    expect(() => checkRequest({ ...request, argv: [] })).toThrow('no command');
    expect(() => checkRequest({ ...request, argv: ['a\0b'] })).toThrow('NUL');
    expect(() => checkRequest({ ...request, env: { 'A=B': 'c' } })).toThrow('not a name');
    expect(() => checkRequest({ ...request, env: { A: 'b\0--bind' } })).toThrow('NUL');
  });

  it('of a service that is root must name an unprivileged owner', () => {
    expect(() => effectiveOwner(undefined, 0)).toThrow('must name an owner');
    expect(() => effectiveOwner({ uid: 0, gid: 200_000 }, 0)).toThrow('at least 200000');
    expect(() => effectiveOwner({ uid: 200_000, gid: 0 }, 0)).toThrow('at least 200000');
    expect(effectiveOwner({ uid: 200_000, gid: 200_000 }, 0)).toEqual({ uid: 200_000, gid: 200_000 });
    expect(effectiveOwner({ uid: 200_000, gid: 200_000 }, 1000)).toBeUndefined();
  });
});
