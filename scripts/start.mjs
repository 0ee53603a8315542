/** `npm start`: from a fresh clone to a running service. Plain Node.js 20 or later, no dependencies. */
import { existsSync } from 'node:fs';
import { runService, runTool } from './lib/foreground.mjs';
import { prepare } from './lib/prepare.mjs';
import { inProject } from './lib/project.mjs';
import { reachablePlace } from './lib/reachable.mjs';
import { SetupError } from './lib/setup-error.mjs';

// A terminal that is gone or a full volume is no reason not to start.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

try {
  const { node, env } = await prepare({ dev: false });
  const settings = existsSync(inProject('.env')) ? ['--env-file=.env'] : [];
  const flags = [...settings, '--max-semi-space-size=4'];
  const placed = reachablePlace()([node, ...flags, 'dist/bundle/main.js', ...process.argv.slice(2)], env);
  const isCommand = process.argv.length > 2;
  process.exit(await (isCommand ? runTool : runService)(placed.command, placed.env));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  error.print();
  process.exit(1);
}
