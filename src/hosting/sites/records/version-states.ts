/** How a version stands. `purged`: its files were removed, since newer ones are kept. */
export const VERSION_STATES = ['queued', 'building', 'built', 'failed', 'cancelled', 'purged'] as const;
export type VersionState = (typeof VERSION_STATES)[number];

/** From which states each can be reached; whatever is not here does not happen. */
export const REACHED_FROM: Record<VersionState, readonly VersionState[]> = {
  // Again: the process that built it stops, or was lost.
  queued: ['building'],
  // Again: the worker of the first attempt was lost.
  building: ['queued', 'building'],
  built: ['building'],
  failed: ['queued', 'building'],
  cancelled: ['queued', 'building'],
  purged: ['built', 'failed', 'cancelled'],
};

export const isOpen = (state: VersionState): boolean => state === 'queued' || state === 'building';

/** What a build is at. */
export const BUILD_PHASES = ['snapshot', 'install', 'build', 'collect'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

export interface BuildProgress {
  readonly phase?: BuildPhase;
  /** Files of the phase that are done, and in all; absent where they are not counted. */
  readonly done?: number;
  readonly total?: number;
}
