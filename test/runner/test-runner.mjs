/**
 * Runs test files with jest-circus, in Node.js itself instead of one of Jest's sandboxes: in those each file would load the
 * service's 4,000 modules anew, which takes three seconds of processor and is most of what many files take.
 */
import { createRequire } from 'node:module';
import { loadTests } from './modules.mjs';

const require = createRequire(import.meta.url);
const { default: circus } = require('jest-circus/runner');
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

process.setSourceMapsEnabled(true);

export default function run(globalConfig, config, environment, runtime, testPath, sendMessageToJest) {
  // Jest's way of mapping stack traces would hide that of Node.js.
  Error.prepareStackTrace = undefined;
  const inProcess = {
    requireInternalModule: requireAnew,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: file => loadTests(file, runtime.requireModuleOrMock(file, '@jest/globals')),
  };
  const replaced = new Proxy(runtime, {
    get(target, name) {
      if (Object.hasOwn(inProcess, name)) return inProcess[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return circus(globalConfig, config, environment, replaced, testPath, sendMessageToJest);
}

/** jest-circus keeps what it knows of a test file in its module. */
function requireAnew(file) {
  delete globalThis[EVENT_HANDLERS];
  delete require.cache[file];
  return require(file);
}
