import { describe, expect, it } from '@jest/globals';
import { BuildLog, MAX_LOG_BYTES } from './build-log.js';

/** A log, and what it has passed on. */
function opened() {
  const passed: [string, string][] = [];
  return { log: new BuildLog((stream, text) => passed.push([stream, text])), passed };
}

describe('the log of a build', () => {
  it('passes on what is printed, and what we say', () => {
    const { log, passed } = opened();
    log.say('$ make');
    log.add('stdout', 'out');
    log.add('stderr', 'err');
    expect(passed).toEqual([
      ['system', '$ make\n'],
      ['stdout', 'out'],
      ['stderr', 'err'],
    ]);
  });

  it('is cut, with a mark, and its end is kept', () => {
    const { log, passed } = opened();
    const part = 'é'.repeat(MAX_LOG_BYTES / 4 - 1);
    for (let round = 0; round < 4; round++) log.add('stdout', part);
    log.add('stderr', 'and \x1b[1mnow\x1b[0m this');
    const printed = passed.filter(([stream]) => stream === 'stdout').map(([, text]) => text);
    expect(Buffer.byteLength(printed.join(''))).toBeLessThanOrEqual(MAX_LOG_BYTES);
    expect(printed).toHaveLength(3);
    expect(passed.at(-1)).toEqual(['system', expect.stringContaining('longer than 4 MiB')]);
    expect(log.tail()).toMatch(/éand now this$/);
    log.forgetTail();
    log.add('stdout', 'new');
    expect(log.tail()).toBe('new');
  });

  it('tells once of a flood', () => {
    const { log } = opened();
    let floods = 0;
    log.onFlood = () => floods++;
    const part = 'x'.repeat(2 ** 24);
    for (let round = 0; round < 18; round++) log.add('stdout', part);
    expect(floods).toBe(1);
  });
});
