import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fsync } from 'node:fs';
import { promisify } from 'node:util';
import { forEachOf } from './concurrency.js';
import type { Directory } from './directory.js';
import { isNoFile } from './errors.js';
import type { Tree } from './tree.js';
import { walk } from './walk.js';

const flushOne = promisify(fsync);
/** sync(1) is looked for where systems have it. */
const PLAIN = { PATH: '/usr/bin:/bin' };

/** Makes all that is in a workspace durable: its file system as a whole where sync(1) can, else file by file. */
export async function flush(tree: Tree): Promise<void> {
  if (!(await flushFileSystem(tree.root))) await flushEach(tree);
}

/** syncfs(2), of which Node knows nothing; false where it cannot be had. */
async function flushFileSystem(root: string): Promise<boolean> {
  // Elsewhere it knows no file systems.
  if (process.platform !== 'linux') return false;
  const child = spawn('sync', ['-f', root], { env: PLAIN, stdio: 'ignore' });
  try {
    const [code] = await once(child, 'exit');
    return code === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

export function flushEach(tree: Tree): Promise<void> {
  return tree.inFolder('', async root => {
    const entries = walk(root, { arrive: folder => folder.sync(), enter: () => true });
    for await (const { folder, found } of entries) {
      const files = found.filter(({ entry }) => entry.type === 'file');
      await forEachOf(files, ({ name }) => flushFile(folder, name));
    }
  });
}

/** Unless it is gone, or something else, by now. */
async function flushFile(folder: Directory, name: string): Promise<void> {
  try {
    const file = await folder.descriptor(name);
    try {
      await file.use(fd => flushOne(fd));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!isNoFile(error)) throw error;
  }
}
