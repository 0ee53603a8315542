import path from 'node:path';
import { runLogged } from './run-logged.mjs';

/** Runs the npm that started this script, else the one on the PATH. */
export function runNpm(name, args, options) {
  const own = process.env.npm_execpath;
  const isNpm = own !== undefined && path.basename(own).startsWith('npm-cli');
  return isNpm
    ? runLogged(name, process.execPath, [own, ...args], options)
    : runLogged(name, 'npm', args, options);
}
