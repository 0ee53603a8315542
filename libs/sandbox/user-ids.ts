import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Well above people and system services. */
export const MIN_UID = 200_000;
/** What systemd leaves unassigned, above its ranges for containers (https://systemd.io/UIDS-GIDS): 268 million ids. */
const FREE_UIDS = { first: 0x7000_0000, last: 0x7fff_ffff };
const MIN_RANGE = 1_000_000;

/** Somewhere among the unassigned ids, or as far up as a container with fewer of them allows. */
export function chooseBase(lastUid: number): number {
  if (lastUid >= FREE_UIDS.last) return randomInt(FREE_UIDS.first, FREE_UIDS.last - MIN_RANGE);
  return lastUid - MIN_RANGE > MIN_UID ? randomInt(MIN_UID, lastUid - MIN_RANGE) : MIN_UID;
}

/** The highest user id that exists in this user namespace, of those from 0 on (user_namespaces(7)). */
export function lastMappedUid(map = readMap()): number {
  let last = -1;
  const ranges = map.split('\n').map(line => line.trim().split(/\s+/).map(Number));
  for (const [inside = Number.NaN, , count = 0] of ranges.sort(([a = 0], [b = 0]) => a - b))
    if (inside <= last + 1) last = Math.max(last, inside + count - 1);
  return last;
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch (error) {
    // Not Linux: no namespaces.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `0 0 ${2 ** 32 - 1}`;
    throw error;
  }
}
