import {
  defaultLimits,
  type SandboxLimits,
  type SandboxResult,
  type SandboxSession,
  type SessionCommand,
  type SessionEnd,
  SessionOver,
  type SessionResult,
} from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import type { LastingSandbox } from '../changes/index.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import type { WorkspaceRef } from './sandbox-environments.js';

/** `taken_up`: the worker that ran its run is gone, or the run waited. */
export type SessionLoss = SessionEnd | 'taken_up';

export interface ScriptResult
  extends SandboxResult,
    Partial<Pick<SessionResult, 'session_ended' | 'cpu_ms'>> {
  /** Why the session before this one, which is new, had ended. */
  session_lost?: SessionLoss | null;
  session_new?: boolean;
  egress_refused?: string[];
}

const MiB = 1024 * 1024;

const LIMIT_NOTES: Record<keyof SandboxLimits, string> = {
  wallMs: 'Killed: it took longer than allowed.',
  cpuSeconds: 'Killed: one of its processes used more CPU time than allowed.',
  memoryBytes: 'Killed: it used more memory than allowed.',
  outputBytes: 'Killed: it wrote more output than allowed.',
  processes: `It had more than ${defaultLimits.processes} processes and threads at once, and was refused more.`,
  fileBytes: `Killed: it made a file larger than ${defaultLimits.fileBytes / MiB} MiB.`,
  tmpBytes: `/tmp holds ${defaultLimits.tmpBytes / MiB} MiB and is full; larger files belong into the workspace.`,
};

const SESSION_NOTES: Record<SessionEnd, string> = {
  ended: 'The sandbox was ended from outside',
  killed: 'The sandbox was killed, perhaps by a command in it',
  memory: 'The sandbox was killed because its processes used more memory than allowed',
  output: 'The sandbox was killed because of a flood of output',
};

const TAKEN_UP = 'The sandbox ended when the run was interrupted or waited';

const NEW_ONE =
  'a new one starts in /workspace, without the variables, /tmp and background processes of before';

/** What the reader has to know beyond the output; `why`: the reason it was stopped. */
export function notesOf(result: ScriptResult, why = 'Killed: the run was stopped.'): string[] {
  const { output, exit_code, ended_by, truncated, limit, session_ended, egress_refused = [] } = result;
  const notes: string[] = [];
  if (truncated) notes.push('Output beyond the limit is left out.');
  if (output.includes('No space left on device')) notes.push(LIMIT_NOTES.tmpBytes);
  if (ended_by === 'stopped') notes.push(why);
  else if (limit !== null && !(limit === 'outputBytes' && ended_by === 'exit'))
    notes.push(LIMIT_NOTES[limit]);
  if (ended_by === 'exit' && exit_code !== 0 && exit_code !== null) notes.push(`Exit code ${exit_code}.`);
  if (session_ended) notes.push(`${SESSION_NOTES[session_ended]}; with the next command ${NEW_ONE}.`);
  if (egress_refused.length > 0) notes.push(`Refused connections: ${egress_refused.join(' ')}`);
  return notes;
}

export function lostNote(loss: SessionLoss): string {
  const why = loss === 'taken_up' ? TAKEN_UP : SESSION_NOTES[loss];
  return `(${why} since the last command; ${NEW_ONE}.)`;
}

export interface ShellUse {
  readonly caller: SandboxCaller;
  /** Whom the command `actions` acts as; absent: there is no such command. */
  readonly actions?: ActionCaller;
  /** By which the caller comes back to it. */
  readonly name?: string;
}

export interface OpenShell {
  readonly session: SandboxSession;
  readonly takeRefused: () => string[];
}

export type OpenSession = (workspace: WorkspaceRef, use: ShellUse, script: string) => Promise<OpenShell>;

/**
 * A shell that lasts over commands: folder, variables and background processes stay. The first command opens its session;
 * when it is lost, the next opens another, and its result says so.
 */
export class Shell implements LastingSandbox {
  private opened: OpenShell | undefined;
  private over = false;
  private before: SessionLoss | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private settling: Promise<void> | undefined;
  private settled: SandboxSession | undefined;

  constructor(
    private readonly open: OpenSession,
    private readonly use: ShellUse,
  ) {}

  /** Another shell ran earlier commands of the run: the first result says that this is a new one. */
  takeUp(): void {
    this.before = 'taken_up';
  }

  run(workspace: WorkspaceRef, command: SessionCommand): Promise<ScriptResult> {
    const result = this.turn.then(() => this.perform(workspace, command));
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** Undefined before the first command, and after one that ended it. */
  get session(): SandboxSession | undefined {
    return this.opened?.session;
  }

  /** Ends the session, and opens no more. Idempotent. */
  async end(): Promise<void> {
    this.over = true;
    await this.opened?.session.end();
    await this.settling;
  }

  runsOn(): boolean {
    return this.opened?.session.runsOn() ?? false;
  }

  whenEnded(settle: () => Promise<void>): void {
    const { session } = this;
    if (session && this.settled === session) return;
    this.settled = session;
    this.settling = (session?.ended ?? Promise.resolve()).then(settle);
  }

  kill(): void {
    void this.session?.end();
  }

  private async perform(workspace: WorkspaceRef, command: SessionCommand): Promise<ScriptResult> {
    const session_lost = (await this.lost()) ?? this.before;
    const session_new = this.opened === undefined;
    this.opened ??= await this.openFor(workspace, command.script);
    const { session, takeRefused } = this.opened;
    try {
      const result = await session.run(command);
      this.before = null;
      if (result.session_ended !== null) this.opened = undefined;
      return { ...result, session_lost, session_new, egress_refused: takeRefused() };
    } catch (error) {
      if (!(error instanceof SessionOver) || this.over) throw error;
      // It ended just now; the command has not begun.
      await session.ended;
      return this.perform(workspace, command);
    }
  }

  /** Null: it has not ended. */
  private async lost(): Promise<SessionLoss | null> {
    if (!this.opened) return null;
    const goesOn = Symbol();
    const end = await Promise.race([this.opened.session.ended, Promise.resolve(goesOn)]);
    if (typeof end === 'symbol') return null;
    this.opened = undefined;
    return end;
  }

  private async openFor(workspace: WorkspaceRef, script: string): Promise<OpenShell> {
    if (this.over) throw new SessionOver('The shell has ended');
    const opened = await this.open(workspace, this.use, script);
    if (this.over) await opened.session.end();
    return opened;
  }
}
