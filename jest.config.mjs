import { swcOptions } from './scripts/lib/swc.mjs';

/** Jest on native ES modules; TypeScript through SWC with the decorator settings of tsconfig.json. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/libs', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^#libs/(.*)\\.js$': '<rootDir>/libs/$1',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': ['@swc/jest', swcOptions],
  },
  cacheDirectory: '<rootDir>/.cache/jest',
  globalSetup: '<rootDir>/test/global-setup.mjs',
  globalTeardown: '<rootDir>/test/global-teardown.mjs',
  // Tests wait for databases and processes more than they compute.
  maxWorkers: 3,
  // Modules of each file stay in memory until their worker ends.
  workerIdleMemoryLimit: '1GB',
  // For machines that do much else at the same time; a test that hangs is what this ends.
  testTimeout: 300_000,
};
