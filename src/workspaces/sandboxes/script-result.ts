import type { SandboxResult, SessionEnd, SessionResult } from '#libs/sandbox/index.js';

/** Why a shell's session is gone; `taken_up`: with the worker, or the wait, that its run was taken up after. */
export type SessionLoss = SessionEnd | 'taken_up';

/** How a script ended, alone or in a shell. */
export interface ScriptResult
  extends SandboxResult,
    Partial<Pick<SessionResult, 'session_ended' | 'cpu_ms'>> {
  /** Why the shell's session had ended before this script, which ran in a new one. */
  session_lost?: SessionLoss | null;
  /** Whether it was the first in the shell's session. */
  session_new?: boolean;
  /** Which connections were refused meanwhile, in sentences. */
  egress_refused?: string[];
}
