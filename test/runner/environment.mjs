import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';
import { ModuleMocker } from 'jest-mock';

/** Mocks and fake timers for the process itself, where tests run. */
export default class ProcessEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
    this.moduleMocker = new ModuleMocker(globalThis);
  }
}
