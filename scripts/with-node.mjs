/** `node scripts/with-node.mjs FILE …`: runs a file on the Node.js that Atelier runs on, whatever the machine's own version. */
import { runTool } from './lib/foreground.mjs';
import { requireRuntime } from './lib/runtime.mjs';
import { SetupError } from './lib/setup-error.mjs';

try {
  const { node, env } = await requireRuntime();
  process.exitCode = await runTool([node, ...process.argv.slice(2)], env);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  error.print();
  process.exitCode = 1;
}
