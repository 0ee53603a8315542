/** Jest on native ES modules: test/runner loads TypeScript, and runs test files in the process itself. */
export default {
  testRunner: '<rootDir>/test/runner/test-runner.mjs',
  testSequencer: '<rootDir>/test/runner/sequencer.mjs',
  testEnvironment: '<rootDir>/test/runner/environment.mjs',
  roots: ['<rootDir>/src', '<rootDir>/libs', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  transform: {},
  cacheDirectory: '<rootDir>/.cache/jest',
  globalSetup: '<rootDir>/test/global-setup.mjs',
  globalTeardown: '<rootDir>/test/global-teardown.mjs',
  // Tests wait for databases and processes more than they compute.
  maxWorkers: 4,
  workerIdleMemoryLimit: '1GB',
  // It takes long to end a process of much memory where many others want the processor.
  workerGracefulExitTimeout: 10_000,
  // For machines that do much else at the same time; a test that hangs is what this ends.
  testTimeout: 300_000,
};
