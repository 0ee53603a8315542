/** `npm run lint`: each `lint:…` of package.json, as many at once as there are processors, and what those print that fail. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { inProject } from './lib/project.mjs';

const { scripts } = JSON.parse(readFileSync(inProject('package.json'), 'utf8'));
const waiting = Object.entries(scripts)
  .filter(([name]) => name.startsWith('lint:'))
  .values();

async function work() {
  for (const [name, command] of waiting) {
    const { code, output } = await run(command);
    console.log(`${code === 0 ? '✓' : '✗'} ${name}`);
    if (code === 0) continue;
    console.log(output);
    process.exitCode = 1;
  }
}

function run(command) {
  const child = spawn(command, { shell: true, cwd: inProject('.'), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += text;
    });
  return new Promise(resolve => child.once('close', code => resolve({ code, output })));
}

await Promise.all(Array.from({ length: os.availableParallelism() }, work));
