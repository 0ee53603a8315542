import { readdirSync, watch } from 'node:fs';

/** Resolves as soon as what is in a folder is as wanted: now, or after any of its changes from now on. */
export function folderBecomes(folder: string, wanted: (names: string[]) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!wanted(readdirSync(folder))) return;
      watcher.close();
      resolve();
    };
    const fail = (error: unknown) => {
      watcher.close();
      reject(error);
    };
    // The folder may be gone by then, where its test is over: nothing may be thrown out of an event.
    const watcher = watch(folder, () => {
      try {
        look();
      } catch (error) {
        fail(error);
      }
    });
    watcher.once('error', fail);
    look();
  });
}
