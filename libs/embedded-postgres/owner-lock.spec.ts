import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { lockForThisProcess } from './owner-lock.js';
import { removeScratch, scratchFolder } from './testing/scratch.js';

afterEach(removeScratch);

function lockFile(content?: object | string): string {
  const file = path.join(scratchFolder(), 'data.lock');
  if (content) writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe('the lock of a data folder', () => {
  it('is taken, refused to a second and free after release', () => {
    const file = lockFile();
    const lock = lockForThisProcess(file, '/socket');
    expect(() => lockForThisProcess(file, '/socket')).toThrow(`in use by the running process ${process.pid}`);
    lock.release();
    expect(existsSync(file)).toBe(false);
    expect(lockForThisProcess(file, '/socket').abandoned).toBeUndefined();
  });

  it('is taken over from a process that has died, with what that left behind', () => {
    const file = lockFile({ pid: 2 ** 22 + 1, identity: 'boot:1', socketFolder: '/left' });
    expect(lockForThisProcess(file, '/socket').abandoned).toMatchObject({ socketFolder: '/left' });
    expect(readdirSync(path.dirname(file))).toEqual(['data.lock']);
  });

  it('is taken over when the number of its owner has been given to another process', () => {
    const file = lockFile({ pid: process.ppid, identity: 'boot:1', socketFolder: '/left' });
    lockForThisProcess(file, '/socket');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
  });

  it('is taken over when its content was lost', () => {
    const file = lockFile('{"pid":');
    expect(lockForThisProcess(file, '/socket').abandoned).toBeUndefined();
  });

  it('is left alone on release when it belongs to another by then', () => {
    const file = lockFile();
    const lock = lockForThisProcess(file, '/socket');
    writeFileSync(file, JSON.stringify({ pid: 1, identity: 'other', socketFolder: '/x' }));
    lock.release();
    expect(existsSync(file)).toBe(true);
  });
});
