import { BubblewrapSandbox } from './bubblewrap.js';
import { LocalSandbox } from './local.js';
import type { SandboxDriver, SandboxOptions } from './sandbox.js';

/**
 * @param driver `bubblewrap` isolates; `unsafe-local` does not, and is for hosts whose operator has said
 * that commands may do there whatever the service may
 */
export function createSandbox(
  driver: 'bubblewrap' | 'unsafe-local',
  options: SandboxOptions = {},
): SandboxDriver {
  return driver === 'bubblewrap' ? new BubblewrapSandbox(options) : new LocalSandbox(options);
}
