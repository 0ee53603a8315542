/** `crashed`: retried at `next_attempt_at`; `failed`: not retried; `sleeping`: the next request starts it. */
export const SERVER_STATES = ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'] as const;
export type ServerState = (typeof SERVER_STATES)[number];

/** Allowed transitions: from which states each state can be reached. */
export const REACHED_FROM: Record<ServerState, readonly ServerState[]> = {
  stopped: ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'],
  // From running: it is restarted, changed, or the process that ran it was lost.
  starting: ['stopped', 'starting', 'running', 'crashed', 'failed', 'sleeping'],
  running: ['starting'],
  crashed: ['starting', 'running'],
  failed: ['starting', 'running', 'crashed'],
  sleeping: ['running'],
};

export const isUp = (state: ServerState): boolean => state === 'starting' || state === 'running';

/** `draining`: finishes its requests, and takes no new ones. */
export const INSTANCE_STATES = ['starting', 'running', 'draining', 'ended'] as const;
export type InstanceState = (typeof INSTANCE_STATES)[number];

export const RESTARTS = ['always', 'on_failure', 'never'] as const;
export type Restart = (typeof RESTARTS)[number];

/** `Host` header that the program sees: `local` is localhost with its port. */
export const HOST_HEADERS = ['public', 'local'] as const;
export type HostHeader = (typeof HOST_HEADERS)[number];

export interface ServerExit {
  /** Null after a signal or the loss of its process. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: string;
  readonly at: string;
}
