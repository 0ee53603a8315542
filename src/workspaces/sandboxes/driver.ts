import path from 'node:path';
import { createSandbox, type SandboxDriver } from '#libs/sandbox/index.js';
import type { Config } from '../../platform/config/index.js';

/** How code is isolated here, and where commands find the service's Node.js; in an image it is where others are. */
interface Isolation {
  driver: SandboxDriver;
  nodeFolder: string;
}

/** What SANDBOX_DRIVER says. */
export function isolationOf(config: Config): Isolation {
  const folder = path.dirname(process.execPath);
  if (config.sandboxDriver === 'docker')
    return { driver: dockerDriver(config), nodeFolder: '/usr/local/bin' };
  const own = folder.startsWith('/usr') ? [] : [{ from: process.execPath, to: '/opt/node/bin/node' }];
  const driver = createSandbox(config.sandboxDriver, { readOnlyBinds: own });
  return { driver, nodeFolder: driver.isolated && own.length > 0 ? '/opt/node/bin' : folder };
}

function dockerDriver(config: Config): SandboxDriver {
  const volume = config.sandboxDockerVolume;
  return createSandbox('docker', {
    image: config.sandboxDockerImage,
    socketPath: config.sandboxDockerSocket,
    runtime: config.sandboxDockerRuntime,
    volume: volume === undefined ? undefined : { name: volume, mountedAt: path.resolve(config.dataDir) },
    scratchFolder: config.scratchDir,
  });
}
