import type { SandboxLimits } from './limits.js';
import type { Owner, ReadOnlyBind, SandboxRequest, SandboxResult, SandboxUsage } from './sandbox.js';

/** A place in which scripts run one after another. */
export interface SessionRequest {
  /** As for a single command. */
  workspace: string;
  /** Where the first script starts, relative to the workspace; default `.`. */
  cwd?: string;
  /** Variables that the first script finds exported. */
  env?: Record<string, string>;
  owner?: Owner;
  /** `wallMs` and `outputBytes` are each script's; the others hold for all that runs in the session together. */
  limits?: Partial<SandboxLimits>;
  readOnlyBinds?: ReadOnlyBind[];
  /** Aborting ends the session. */
  signal?: AbortSignal;
}

/** A script for bash; what it changes of working directory, variables and functions, the next one finds changed. */
export interface SessionCommand {
  /** May exit, fail, replace itself by `exec` or be no bash at all: the session goes on. */
  script: string;
  /** Standard input; without it the script reads an end of file. */
  stdin?: SandboxRequest['stdin'];
  /** Time for this script, instead of the session's `limits.wallMs`. */
  wallMs?: number;
  /** Aborting kills the script and what it started; what earlier scripts left running goes on. */
  signal?: AbortSignal;
  /** Output as it arrives, of background processes too. A throw kills the script and rejects `run`. */
  onOutput?: SandboxRequest['onOutput'];
}

/**
 * Why a session is over: its caller ended it, it was killed from within or outside, it ran out of memory, or it
 * flooded its output.
 */
export type SessionEnd = 'ended' | 'killed' | 'memory' | 'output';

export interface SessionResult extends SandboxResult {
  /** Null if the next script may come; otherwise the session is over, and with it all that ran there. */
  session_ended: SessionEnd | null;
  /** CPU time of the script and of its children that it waited for; null where the session did not survive it. */
  cpu_ms: number | null;
  /** The folders in which it began, and in which the next one will; null where that is not known. */
  cwd_before: string | null;
  cwd: string | null;
}

/**
 * A sandbox that lasts: its /tmp and its background processes stay between scripts. It ends by `end`, with the process
 * that opened it, or by what a script does to it. Its processes have ended when `ended` resolves.
 */
export interface SandboxSession {
  /** Resolves, never rejects, when all that ran in it has ended. */
  readonly ended: Promise<SessionEnd>;
  /**
   * Runs a script when those before it are over.
   *
   * @throws SessionOver if the session has ended before the script began; SandboxRefusal if the script is unfit
   */
  run(command: SessionCommand): Promise<SessionResult>;
  /**
   * Sends a signal to the script that runs now and to what it runs in the foreground; false if there is none. As at a
   * terminal, a shell that is just about to start a program may miss it, so it may have to be sent again.
   */
  interrupt(signal?: NodeJS.Signals): boolean;
  usage(): SandboxUsage;
  /** Whether something of earlier scripts goes on while no script runs; true where that is unknown. */
  runsOn(): boolean;
  /** Kills everything; resolves when it is dead. Harmless twice. */
  end(): Promise<void>;
}
