import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';
import { ModuleMocker } from 'jest-mock';

const FAULTS = ['uncaughtException', 'unhandledRejection'];

const TIMEOUTS_AT_MOST = 2;

/**
 * Mocks and fake timers for the process itself, where tests run; the next file finds the process as this one found it. A
 * file in which test after test runs into its deadline is given up: the rest is skipped.
 */
export default class ProcessEnvironment extends TestEnvironment {
  #timeouts = 0;
  #found = {
    environment: { ...process.env },
    folder: process.cwd(),
    umask: process.umask(),
    listeners: FAULTS.map(fault => [fault, process.listeners(fault)]),
    globals: Object.getOwnPropertyDescriptors(globalThis),
  };

  constructor(config, context) {
    super(config, context);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
    this.moduleMocker = new ModuleMocker(globalThis);
  }

  handleTestEvent({ name, error, test }) {
    if (
      (name === 'test_fn_failure' || name === 'hook_failure') &&
      /^Exceeded timeout/.test(error?.message ?? error)
    )
      this.#timeouts++;
    if (name === 'test_start' && this.#timeouts >= TIMEOUTS_AT_MOST) test.mode = 'skip';
  }

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    await super.teardown();
    const { environment, folder, umask, listeners, globals } = this.#found;
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
    process.chdir(folder);
    process.umask(umask);
    for (const [fault, found] of listeners)
      for (const listener of process.listeners(fault))
        if (!found.includes(listener)) process.off(fault, listener);
    for (const [name, { value }] of Object.entries(globals))
      if (value !== undefined && !Object.is(globalThis[name], value)) globalThis[name] = value;
  }
}
