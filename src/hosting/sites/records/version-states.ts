/** `purged`: files were removed by retention. */
export const VERSION_STATES = ['queued', 'building', 'built', 'failed', 'cancelled', 'purged'] as const;
export type VersionState = (typeof VERSION_STATES)[number];

/** Allowed transitions: from which states each state can be reached. */
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

export const BUILD_PHASES = ['snapshot', 'install', 'build', 'collect'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

export interface BuildProgress {
  readonly phase?: BuildPhase;
  /** Files done and in total; absent where they are not counted. */
  readonly done?: number;
  readonly total?: number;
}
