import { forEachOf } from './concurrency.js';
import type { Directory, Name } from './directory.js';
import { nameOf } from './directory-name.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { newTemporaryName } from './path.js';
import { refuseRoot, type Tree } from './tree.js';

/** Folders below this depth are moved up before they are emptied: a walk holds one descriptor a level. */
const MAX_OPEN_LEVELS = 32;
/** How often a folder is emptied that someone fills again meanwhile. */
const MAX_REFILLS = 8;

/** Removes a file, a link (never what it points to) or a folder. A folder vanishes at once, then is emptied. */
export async function remove(tree: Tree, path: string, recursive: boolean): Promise<void> {
  refuseRoot(path);
  await tree.inParent(path, async (folder, name) => {
    const isDirectory = (await folder.lstat(name)).isDirectory();
    tree.options.beforeChange?.();
    if (!isDirectory) await folder.unlink(name);
    else if (!recursive) await folder.removeDirectory(name);
    else {
      const doomed = newTemporaryName();
      await folder.rename(name, folder, doomed);
      await removeTree(folder, doomed);
    }
    await folder.sync();
  });
}

/** Removes whatever has this name, if anything: links are not followed, and any depth is fine. */
export async function removeTree(parent: Directory, name: Name): Promise<void> {
  if (!(await unlinkUnlessFolder(parent, name))) return;
  const top = await openToEmpty(parent, name);
  try {
    let refills = 0;
    for (;;) {
      const movedUp = await empty(top, top, 1);
      if (await removeIfEmpty(parent, name)) return;
      if (!movedUp && ++refills > MAX_REFILLS) throw new WorkspaceFsError('busy', top.path);
    }
  } finally {
    await top.close();
  }
}

/** Whether folders were moved up to `top`, which is to be emptied again then. */
async function empty(folder: Directory, top: Directory, level: number): Promise<boolean> {
  const folders: Name[] = [];
  await forEachOf(await folder.names(), async entry => {
    const name = nameOf(entry);
    if (await unlinkUnlessFolder(folder, name)) folders.push(name);
  });
  let movedUp = false;
  for (const name of folders) {
    if (level >= MAX_OPEN_LEVELS) {
      await folder.rename(name, top, newTemporaryName());
      movedUp = true;
    } else {
      movedUp = (await emptyAndRemove(folder, name, top, level)) || movedUp;
    }
  }
  return movedUp;
}

async function emptyAndRemove(
  parent: Directory,
  name: Name,
  top: Directory,
  level: number,
): Promise<boolean> {
  const folder = await openToEmpty(parent, name);
  try {
    const movedUp = await empty(folder, top, level + 1);
    await removeIfEmpty(parent, name);
    return movedUp;
  } finally {
    await folder.close();
  }
}

/** False when something came into it meanwhile. */
async function removeIfEmpty(parent: Directory, name: Name): Promise<boolean> {
  try {
    await parent.removeDirectory(name);
    return true;
  } catch (error) {
    if (isWorkspaceError(error, 'not_found')) return true;
    if (isWorkspaceError(error, 'not_empty', 'exists')) return false;
    throw error;
  }
}

/** True for a folder, which stays; anything else is gone afterwards. */
async function unlinkUnlessFolder(parent: Directory, name: Name): Promise<boolean> {
  try {
    await parent.unlink(name);
    return false;
  } catch (error) {
    if (isWorkspaceError(error, 'not_found')) return false;
    // Linux says EISDIR, POSIX EPERM.
    const perhapsFolder = isWorkspaceError(error, 'is_directory', 'denied');
    if (perhapsFolder && (await parent.find(name))?.isDirectory()) return true;
    throw error;
  }
}

/** A service that is not root needs permission to empty a folder, and a sandbox may have taken it away. */
async function openToEmpty(parent: Directory, name: Name): Promise<Directory> {
  if (process.getuid?.() !== 0) await parent.unlock(name);
  return parent.directory(name);
}
