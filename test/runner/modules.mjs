/**
 * How tests load TypeScript: through SWC, with the source maps that stack traces need. The modules of the service are loaded
 * once for all test files of a process; test files and what only tests use, once for each. A test file that begins with
 * `@isolated` has modules of its own.
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import { swcOptions } from '../../scripts/lib/swc.mjs';

const project = path.resolve(import.meta.dirname, '../..');
const OF_ONE_FILE = /^test\/|\/testing\/|\.(spec|fixture)\.ts$/;
const GLOBALS = 'jest-globals:';

let count = 0;
let isolated = false;
/** What the test file that is being loaded imports from `@jest/globals`. */
export let globals;

export async function loadTests(file, jestGlobals) {
  count++;
  isolated = /^\/\*\* @isolated\b/.test(readFileSync(file, 'utf8'));
  globals = jestGlobals;
  Object.assign(globalThis, jestGlobals);
  await import(urlOf(file));
}

function urlOf(file) {
  const { href } = pathToFileURL(file);
  return isolated || OF_ONE_FILE.test(path.relative(project, file)) ? `${href}?file=${count}` : href;
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals')
      return { url: `${GLOBALS}${count}`, format: 'module', shortCircuit: true };
    const file = sourceOf(specifier, context.parentURL);
    return file ? { url: urlOf(file), format: 'module', shortCircuit: true } : next(specifier, context);
  },
  load(url, context, next) {
    if (url.startsWith(GLOBALS)) return { source: reexported(), format: 'module', shortCircuit: true };
    const file = url.startsWith('file:') ? fileURLToPath(url) : '';
    if (!file.endsWith('.ts')) return next(url, context);
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      ...swcOptions,
      configFile: false,
      swcrc: false,
      filename: file,
      sourceMaps: 'inline',
    });
    return { source: code, format: 'module', shortCircuit: true };
  },
});

/** The TypeScript that an import of ours means; undefined for what is none. */
function sourceOf(specifier, parent) {
  if (!specifier.endsWith('.js') || !parent?.startsWith('file:')) return undefined;
  const source = `${specifier.slice(0, -'.js'.length)}.ts`;
  if (source.startsWith('#libs/')) return path.join(project, source.slice(1));
  if (!source.startsWith('.')) return undefined;
  const file = path.resolve(path.dirname(fileURLToPath(parent)), source);
  const isOurs = file.startsWith(`${project}/`) && !file.includes('/node_modules/');
  return isOurs && existsSync(file) ? file : undefined;
}

function reexported() {
  const names = Object.keys(globals).join(', ');
  return `import { globals } from ${JSON.stringify(import.meta.url)};\nexport const { ${names} } = globals;`;
}
