/**
 * `npm run bench [names]`: every `test/bench/*.bench.mjs` in turn, each a process of its own on the built service. They print
 * ratios against a floor measured in the same run, so that numbers of different machines can be compared.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { prepare } from './lib/prepare.mjs';
import { reachablePlace } from './lib/reachable.mjs';
import { SetupError } from './lib/setup-error.mjs';

/** They take long, and are run by their name alone, with what follows it. */
const ON_DEMAND = ['craft', 'loop', 'mutants', 'soak'];
const asked = process.argv.slice(2);
const demanded = ON_DEMAND.find(name => name === asked[0]);
const only = demanded ? [demanded] : asked;
const given = demanded ? asked.slice(1) : [];
const benches = readdirSync('test/bench')
  .filter(
    name =>
      name.endsWith('.bench.mjs') &&
      (only.length > 0
        ? only.some(part => name.includes(part))
        : !ON_DEMAND.some(part => name.startsWith(part))),
  )
  .sort();

try {
  const { node, env } = await prepare({ dev: true });
  const place = reachablePlace();
  for (const bench of benches) {
    process.stdout.write(`\n${bench}\n`);
    const placed = place([node, '--expose-gc', `test/bench/${bench}`, ...given], env);
    const [command, ...args] = placed.command;
    const child = spawn(command, args, { stdio: 'inherit', env: placed.env });
    const code = await new Promise(resolve => child.once('exit', resolve));
    if (code !== 0) process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  error.print();
  process.exit(1);
}
