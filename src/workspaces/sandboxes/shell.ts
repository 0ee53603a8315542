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

const MiB = 1024 * 1024;

/** What is said of a script that a limit has ended, or that ran into one. */
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

/**
 * How a script ended, in sentences for whoever ran it; none for one that did what it should.
 *
 * @param why it was stopped
 */
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

/** What is said first where the sandbox of before was gone. */
export function lostNote(loss: SessionLoss): string {
  const why = loss === 'taken_up' ? TAKEN_UP : SESSION_NOTES[loss];
  return `(${why} since the last command; ${NEW_ONE}.)`;
}

/** For whom a shell is kept. */
export interface ShellUse {
  readonly caller: SandboxCaller;
  /** Who the command `actions` acts as; absent: there is no such command. */
  readonly actions?: ActionCaller;
  /** By which the caller comes back to it, in this process; absent: it is handed on. */
  readonly name?: string;
}

/** An open session, and what was refused to its programs since the last time this was asked. */
export interface OpenShell {
  readonly session: SandboxSession;
  readonly takeRefused: () => string[];
}

/** Opens a session in which `script` is the first to run. */
export type OpenSession = (workspace: WorkspaceRef, use: ShellUse, script: string) => Promise<OpenShell>;

/**
 * A shell that lasts over the commands of one run, or of one caller: folder, variables and background processes stay. Its session is opened
 * with the first command, and anew where it was lost; then the next result says so.
 */
export class Shell implements LastingSandbox {
  private opened: OpenShell | undefined;
  private over = false;
  /** Why there is no session yet although there was one before this shell. */
  private before: SessionLoss | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  /** What is done when a session has ended. */
  private settling: Promise<void> | undefined;
  private settled: SandboxSession | undefined;

  constructor(
    private readonly open: OpenSession,
    private readonly use: ShellUse,
  ) {}

  /** Says that commands of the same run have had another shell, so that the first result tells that this is a new one. */
  takeUp(): void {
    this.before = 'taken_up';
  }

  run(workspace: WorkspaceRef, command: SessionCommand): Promise<ScriptResult> {
    const result = this.turn.then(() => this.perform(workspace, command));
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** What its commands run in; undefined before the first, and after one that ended it. */
  get session(): SandboxSession | undefined {
    return this.opened?.session;
  }

  /** Ends what runs in it, and opens no more. Harmless twice. */
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

  /** The next command begins a new session. */
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
      // It ended at that moment, and the command has not begun.
      await session.ended;
      return this.perform(workspace, command);
    }
  }

  /** Why the session that was there has ended since the last command; null if it has not. */
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
    // It was ended while its session was being made.
    if (this.over) await opened.session.end();
    return opened;
  }
}
