import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

const usualFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Path of a host program. The service's PATH is not asked: what runs here must not depend on who started it. */
export function findProgram(name: string, folders: string[] = usualFolders): string | undefined {
  return folders.map(folder => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // the answer of access(2) is an exception: not there, or not for us
  }
}
