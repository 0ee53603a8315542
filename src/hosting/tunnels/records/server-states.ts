/**
 * How a server stands. `crashed`: it is started again at `next_attempt_at`; `failed`: it is not, until somebody starts it;
 * `sleeping`: the next request starts it.
 */
export const SERVER_STATES = ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'] as const;
export type ServerState = (typeof SERVER_STATES)[number];

/** From which states each can be reached; whatever is not here does not happen. */
export const REACHED_FROM: Record<ServerState, readonly ServerState[]> = {
  stopped: ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'],
  // From running: it is restarted, changed, or the process that ran it was lost.
  starting: ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'],
  running: ['starting'],
  crashed: ['starting', 'running'],
  failed: ['starting', 'running', 'crashed'],
  sleeping: ['running'],
};

/** Whether a process runs it, or is about to. */
export const isUp = (state: ServerState): boolean => state === 'starting' || state === 'running';

/** How a process of a server stands. `draining`: it takes no new requests. */
export const INSTANCE_STATES = ['starting', 'running', 'draining', 'ended'] as const;
export type InstanceState = (typeof INSTANCE_STATES)[number];

/** When the program is started again after it has ended. */
export const RESTARTS = ['always', 'on_failure', 'never'] as const;
export type Restart = (typeof RESTARTS)[number];

/** The `Host` that the program sees: that of the browser, or `localhost` with its port. */
export const HOST_HEADERS = ['public', 'local'] as const;
export type HostHeader = (typeof HOST_HEADERS)[number];

/** How a program ended. */
export interface ServerExit {
  /** Null where a signal ended it, or it was lost. */
  readonly code: number | null;
  readonly signal: string | null;
  /** In a sentence. */
  readonly reason: string;
  readonly at: string;
}
