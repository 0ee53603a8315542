import { readdirSync, watch } from 'node:fs';

/** Resolves as soon as what is in a folder is as wanted: now, or after any of its changes from now on. */
export function folderBecomes(folder: string, wanted: (names: string[]) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!wanted(readdirSync(folder))) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(folder, look);
    watcher.once('error', reject);
    look();
  });
}
