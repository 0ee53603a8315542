import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inProject } from './project.mjs';
import { swcOptions } from './swc.mjs';

/**
 * Writes the JavaScript of every source to `dist`, with source maps. Types are not checked here: `npm run lint` does that.
 * @param {string[]} files TypeScript sources, relative to the project
 * @throws {Error} where a file is not valid TypeScript; the message shows the place
 */
export async function compile(files) {
  // From node_modules, which may have been installed a moment ago.
  const { transformFile } = await import('@swc/core');
  const waiting = files.values();
  const work = async () => {
    for (const file of waiting) await compileOne(transformFile, file);
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, work));
}

async function compileOne(transformFile, file) {
  const output = inProject('dist', file.replace(/\.ts$/, '.js'));
  const { code, map } = await transformFile(inProject(file), {
    ...swcOptions,
    configFile: false,
    swcrc: false,
    sourceMaps: true,
    sourceFileName: path.relative(path.dirname(output), inProject(file)),
  });
  mkdirSync(path.dirname(output), { recursive: true });
  writeFileSync(output, `${code}//# sourceMappingURL=${path.basename(output)}.map\n`);
  writeFileSync(`${output}.map`, map);
}
