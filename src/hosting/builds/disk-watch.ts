import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 1000;
/** Measuring takes at most one part in `SHARE` of the time. */
const SHARE = 20;
/** Free disk space to leave: bytes or a fraction, whichever is less. */
const RESERVE = { bytes: 1024 ** 3, part: 0.02 };

export interface Watched {
  readonly folder: string;
  readonly maxBytes: number;
  /** Size of the folder; null if it cannot be measured. */
  measure(signal: AbortSignal): Promise<number | null>;
}

/** Resolves with the reason when the folder must not grow further; undefined once `signal` is aborted. */
export async function watchDisk(watched: Watched, signal: AbortSignal): Promise<string | undefined> {
  let measureAt = performance.now() + LOOK_MS;
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    if (await isNearlyFull(watched.folder)) return 'The disk of this installation is nearly full.';
    if (performance.now() < measureAt) continue;
    const startedAt = performance.now();
    const bytes = await watched.measure(signal);
    measureAt = performance.now() + SHARE * (performance.now() - startedAt);
    if (bytes !== null && bytes > watched.maxBytes)
      return `It wrote more than ${Math.round(watched.maxBytes / 2 ** 20)} MiB, which is the most (disk in SITE_BUILD_LIMITS).`;
  }
  return undefined;
}

/** False if unknown, for instance because the folder is gone. */
async function isNearlyFull(folder: string): Promise<boolean> {
  const disk = await statfs(folder).catch(() => null);
  if (!disk) return false;
  const { bsize, blocks, bavail, files, ffree } = disk;
  const reserve = Math.min(RESERVE.bytes, blocks * bsize * RESERVE.part);
  return bavail * bsize < reserve || (files > 0 && ffree < files * RESERVE.part);
}
