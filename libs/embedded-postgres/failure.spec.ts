import { explainError, explainOutput } from './failure.js';

describe('an explained failure', () => {
  it.each([
    ['initdb: error: could not write to file "x": No space left on device', /disk that holds \/data is full/],
    ['FATAL:  could not extend file: Disk quota exceeded', /disk that holds \/data is full/],
    [
      'initdb: error: could not access directory "/data": Permission denied',
      /may not use \/data: make it writable/,
    ],
    [
      'initdb: error: could not look up effective user ID 4711: user does not exist',
      /\/etc\/passwd does not list it/,
    ],
    ['LOG:  starting\nFATAL:  lock file is empty\nHINT:  wait', /in \/data: FATAL: {2}lock file is empty$/],
    ['', /it ended without a word$/],
  ])('of %j is one sentence that says what to do', (output, expected) => {
    expect(explainOutput('start', '/data', output).message).toMatch(expected);
  });

  it('of a file operation is explained alike, and keeps its cause', () => {
    const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write' });
    expect(explainError('start', '/data', cause)).toMatchObject({
      message: expect.stringMatching(/is full/),
      cause,
    });
  });

  it('leaves a bug as it is', () => {
    const bug = new TypeError('x is undefined');
    expect(explainError('start', '/data', bug)).toBe(bug);
  });
});
