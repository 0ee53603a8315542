import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makePassableFolder, withReach } from './reach.js';
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
  it('needs no more than the account has where others may pass, also to a folder still to be made', () => {
    expect(withReach(stranger, [path.join(target(0o711), 'new')])).toBe(stranger);
  });

  it('takes a capability where a folder on it is closed', () => {
    expect(withReach(stranger, [target(0o700)], ['dac_override', 'dac_read_search'])).toMatchObject({
      uid: stranger.uid,
      capability: 'dac_read_search',
    });
  });

  it('takes the wider one where the program itself is closed, or where there is no other', () => {
    const program = path.join(target(0o755), 'program');
    writeFileSync(program, '', { mode: 0o700 });
    const held = ['dac_override', 'dac_read_search'];
    expect(withReach(stranger, [program], held)).toMatchObject({ capability: 'dac_override' });
    expect(withReach(stranger, [target(0o700)], ['dac_override'])).toMatchObject({
      capability: 'dac_override',
    });
  });

  it('is refused with the name of the closed folder where there is none to give', () => {
    const folder = target(0o700);
    expect(() => withReach(stranger, [folder], [])).toThrow(`run \`chmod o+x ${path.dirname(folder)}\``);
  });

  it('does not matter to the account of the process itself', () => {
    const own = { ...stranger, isOther: false };
    expect(withReach(own, [target(0o700)], [])).toBe(own);
  });

  it('is made open as far as it has to be made, and left as it is where it was there', () => {
    const there = target(0o700);
    const folder = path.join(there, 'a', 'b');
    const umask = process.umask(0o077);
    makePassableFolder(stranger, folder);
    process.umask(umask);
    expect(() => withReach(stranger, [folder], [])).toThrow(path.dirname(there));
    expect([path.dirname(folder), folder].map(one => statSync(one).mode & 0o777)).toEqual([0o755, 0o755]);
  });
});
