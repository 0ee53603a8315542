import type { SandboxResult, SessionEnd, SessionResult } from '#libs/sandbox/index.js';

/** How a script ended, alone or in a shell. */
export interface ScriptResult
  extends SandboxResult,
    Partial<Pick<SessionResult, 'session_ended' | 'cpu_ms'>> {
  /** Why the shell's session had ended before this script, which ran in a new one. */
  session_lost?: SessionEnd | null;
  /** Which connections were refused meanwhile, in sentences. */
  egress_refused?: string[];
}
