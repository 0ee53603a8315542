import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE = 200_000;

/** Ids of the machine's processes whose command line holds `marker`. */
function processesWith(marker: string): string[] {
  return readdirSync('/proc').filter(id => /^\d+$/.test(id) && commandLine(id).includes(marker));
}

/** Resolves when there is a process with `marker`: a command prints before what follows in it has begun. */
export async function oneThere(marker: string, milliseconds = PATIENCE): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (processesWith(marker).length === 0) {
    if (Date.now() > deadline) throw new Error(`there is no ${marker}`);
    await sleep(20);
  }
}

/** Resolves when no process with `marker` is left; the end of somebody else's process is no event that we get. */
export async function allGone(marker: string, milliseconds = PATIENCE): Promise<void> {
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
