import { BubblewrapSandbox } from './bubblewrap.js';
import { DockerSandbox } from './docker/docker.js';
import type { DockerOptions } from './docker/options.js';
import type { SandboxDriver } from './driver.js';
import { LocalSandbox } from './local.js';
import type { SandboxOptions } from './sandbox.js';

/**
 * @param driver `bubblewrap` and `docker` isolate; `unsafe-local` does not, and is for hosts whose operator has said
 * that commands may do there whatever the service may
 */
export function createSandbox(driver: 'docker', options: DockerOptions): SandboxDriver;
export function createSandbox(driver: 'bubblewrap' | 'unsafe-local', options?: SandboxOptions): SandboxDriver;
export function createSandbox(
  driver: 'bubblewrap' | 'docker' | 'unsafe-local',
  options: SandboxOptions | DockerOptions = {},
): SandboxDriver {
  if (driver === 'docker') return new DockerSandbox(options as DockerOptions);
  return driver === 'bubblewrap' ? new BubblewrapSandbox(options) : new LocalSandbox(options);
}
