import { parentOf } from './path.js';
import { refuseRoot } from './tree.js';

/** Names by the folder that they are in. */
export function byFolder(paths: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    refuseRoot(path);
    const folder = parentOf(path);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const names = folders.get(folder);
    if (names) names.push(name);
    else folders.set(folder, [name]);
  }
  return folders;
}
