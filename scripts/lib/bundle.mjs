import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { inProject } from './project.mjs';
import { readStamp, writeStamp } from './stamp.mjs';

/**
 * Packages that stay outside of the bundle: those with native parts, which they find next to themselves, and class-validator,
 * which Nest's mapped types load with `require`: one copy has to know all rules.
 */
const EXTERNAL = /^(@node-rs\/argon2|class-validator|msgpackr-extract)$/;
const OURS = /^((?!\/node_modules\/).)*\/dist\/(src|libs)\/.*\.js$/;
const THEIRS = /\/node_modules\//;

/**
 * Writes the service with its packages to `dist/bundle`, from what `compile` wrote: Node.js loads a few files in a third of the
 * time that it needs for thousands. What is imported with `import()` becomes a file of its own and loads at its first use.
 * @throws {Error} where a file of ours imports what does not exist
 */
export async function bundle() {
  // From node_modules, which may have been installed a moment ago.
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: { main: inProject('dist', 'src', 'main.js'), vault: inProject('dist', 'src', 'vault.js') },
    platform: 'node',
    external: id => EXTERNAL.test(id) || id.startsWith('node:') || builtinModules.includes(id),
    plugins: [sourceMaps],
    onLog: refuseMissing,
  });
  const folder = inProject('dist', 'bundle');
  const before = filesOf(folder);
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // Nest injects and logs by the names of classes.
    keepNames: true,
    // Less to hold in memory: Node.js takes two bytes a character for a file that is not all ASCII.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    sourcemap: 'hidden',
  });
  await build.close();
  removeOld(folder, before, new Set(output.map(({ fileName }) => fileName)));
}

const LIST = 'files.json';

/** What the last build wrote. */
function filesOf(folder) {
  const { files = [] } = readStamp(path.join(folder, LIST)) ?? {};
  return files;
}

/** Files of the build before this one stay: a service that runs may not have loaded all of its own yet. */
function removeOld(folder, before, written) {
  for (const file of readdirSync(folder))
    if (!written.has(file) && !before.includes(file)) rmSync(path.join(folder, file));
  writeStamp(path.join(folder, LIST), { files: [...written] });
}

/** For `platform/log/source-stack.ts`. The maps hold nothing of packages: they would take longer to read than the code. */
const sourceMaps = {
  name: 'source-maps',
  load: {
    filter: { id: OURS },
    handler: id => ({ code: inAscii(readFileSync(id, 'utf8')), map: readFileSync(`${id}.map`, 'utf8') }),
  },
  transform: {
    filter: { id: THEIRS },
    handler: code => ({ code, map: { mappings: '' } }),
  },
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (!file.fileName.endsWith('.map')) continue;
      const { sourcesContent: _, ...map } = JSON.parse(file.source);
      file.source = JSON.stringify(map);
    }
  },
};

/** The bundler escapes no characters in tagged templates. */
const inAscii = code =>
  code.replace(/[^\0-\x7f]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Packages name others that are optional, and load without them. */
function refuseMissing(_level, log) {
  const isOurs = log.id !== undefined && !THEIRS.test(log.id);
  if (log.code === 'UNRESOLVED_IMPORT' && isOurs) throw new Error(log.message);
}
