import TestSequencer from '@jest/test-sequencer';

/** Files that wait for processes and deadlines, mostly. */
const WAITS =
  /\/test\/faults\/|\/boot\.spec|\/(docker|ownership|start-postgres|bubblewrap|slow-readers)\.spec/;

/** The longest files first, as Jest has them, but those that wait in turn with those that compute. */
export default class Sequencer extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const waiting = sorted.filter(({ path }) => WAITS.test(path));
    const computing = sorted.filter(({ path }) => !WAITS.test(path));
    const turns = Array.from({ length: Math.max(waiting.length, computing.length) }, (_, n) => n);
    return turns.flatMap(n => [waiting[n], computing[n]].filter(Boolean));
  }
}
