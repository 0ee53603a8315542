import { chmodSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { makePassableFolder, requireReach } from './reach.js';
import { removeScratch, scratchFolder } from './testing/scratch.js';

afterEach(removeScratch);

const stranger = { uid: 4711, gid: 4711, isOther: true };

function target(mode: number): string {
  const folder = path.join(scratchFolder(), 'closed', 'data');
  mkdirSync(folder, { recursive: true });
  chmodSync(path.dirname(folder), mode);
  return folder;
}

describe('the way to a folder', () => {
  it('is refused with the name of the folder that is closed to the account', () => {
    const folder = target(0o700);
    expect(() => requireReach(stranger, folder)).toThrow(`run \`chmod o+x ${path.dirname(folder)}\``);
  });

  it('is open where others may pass, also to a folder that is still to be made', () => {
    expect(() => requireReach(stranger, path.join(target(0o711), 'new'))).not.toThrow();
  });

  it('does not matter to the account of the process itself', () => {
    expect(() => requireReach({ ...stranger, isOther: false }, target(0o700))).not.toThrow();
  });

  it('is made open as far as it has to be made, and left as it is where it was there', () => {
    const there = target(0o700);
    const folder = path.join(there, 'a', 'b');
    const umask = process.umask(0o077);
    makePassableFolder(stranger, folder);
    process.umask(umask);
    expect(() => requireReach(stranger, folder)).toThrow(path.dirname(there));
    expect([path.dirname(folder), folder].map(one => statSync(one).mode & 0o777)).toEqual([0o755, 0o755]);
  });
});
