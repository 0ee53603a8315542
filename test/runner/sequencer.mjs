import TestSequencer from '@jest/test-sequencer';

/** Files that wait for processes and deadlines, mostly. */
const WAITS =
  /\/test\/faults\/|\/boot\.spec|\/(docker|ownership|start-postgres|bubblewrap|slow-readers)\.spec/;
/** Small files that take long: by their size they would come last, and everything would wait for them. */
const LONG =
  /\/(site-frameworks|server-frameworks|chat-events|dry-run|foreign-ids|permissions|templates-killed|capacity)\.spec/;

/** The longest files first, as Jest has them, but those that wait in turn with those that compute. */
export default class Sequencer extends TestSequencer {
  sort(tests) {
    const sorted = partition(super.sort(tests), LONG).flat();
    const [waiting, computing] = partition(sorted, WAITS);
    const turns = Array.from({ length: Math.max(waiting.length, computing.length) }, (_, n) => n);
    return turns.flatMap(n => [waiting[n], computing[n]].filter(Boolean));
  }
}

/** Tests whose path matches, and the others, in their order. */
function partition(tests, pattern) {
  const matches = ({ path }) => pattern.test(path);
  return [tests.filter(matches), tests.filter(test => !matches(test))];
}
