import { requireBuild } from './build.mjs';
import { requireDependencies } from './dependencies.mjs';
import { requirePlatform } from './platform.mjs';
import { requireRuntime } from './runtime.mjs';
import { offerSandboxTools } from './system-packages.mjs';

/**
 * From a fresh clone to something that can run; each step does nothing where it has been done.
 * @param {{ dev: boolean }} wanted whether tests and linting are to be run, too
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} the Node.js to run with and its environment
 */
export async function prepare({ dev }) {
  requirePlatform();
  // What is installed and built must be readable for the accounts that PostgreSQL and sandboxes run under.
  process.umask(0o022);
  await requireDependencies({ dev });
  const runtime = await requireRuntime();
  await offerSandboxTools();
  await requireBuild();
  return runtime;
}
