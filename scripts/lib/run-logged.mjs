import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import path from 'node:path';
import { logDir, projectDir } from './project.mjs';

/**
 * Runs a program, its output going to a log file and back to the caller.
 * @returns {Promise<{ ok: boolean, output: string, log: string }>}
 */
export function runLogged(name, command, args, options = {}) {
  mkdirSync(logDir, { recursive: true });
  const log = path.join(logDir, `${name}.log`);
  const file = createWriteStream(log);
  // A full volume: the caller has the output.
  file.on('error', () => {});
  return new Promise(resolve => {
    let output = '';
    const collect = chunk => {
      output += chunk;
      file.write(chunk);
    };
    const child = spawn(command, args, { cwd: projectDir, stdio: ['ignore', 'pipe', 'pipe'], ...options });
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const finish = ok => file.end(() => resolve({ ok, output, log }));
    child.once('error', error => {
      collect(`${command}: ${error.message}\n`);
      finish(false);
    });
    child.once('close', code => finish(code === 0));
  });
}
