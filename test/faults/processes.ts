import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ids of the machine's processes whose command line holds `marker`. */
export function processesWith(marker: string): string[] {
  return readdirSync('/proc').filter(id => /^\d+$/.test(id) && commandLine(id).includes(marker));
}

/** Resolves when no process with `marker` is left; the end of somebody else's process is no event that we get. */
export async function allGone(marker: string, milliseconds = 5_000): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (processesWith(marker).length > 0) {
    if (Date.now() > deadline)
      throw new Error(`still there: ${processesWith(marker).map(commandLine).join('; ')}`);
    await sleep(50);
  }
}

function commandLine(id: string): string {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
