import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';
import { ModuleMocker } from 'jest-mock';

const FAULTS = ['uncaughtException', 'unhandledRejection'];

/** Mocks and fake timers for the process itself, where tests run; the next file finds the process as this one found it. */
export default class ProcessEnvironment extends TestEnvironment {
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
