import { writeFileSync } from 'node:fs';

/** Hands Jest's totals to the test script. */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    // A file that cannot even be loaded has no tests that could fail: it counts as one.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const counts = { passed: results.numPassedTests, failed };
    if (process.env.TEST_COUNTS_FILE) writeFileSync(process.env.TEST_COUNTS_FILE, JSON.stringify(counts));
  }
}
