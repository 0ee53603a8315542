import { type SandboxSession, type SessionCommand, SessionOver } from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import type { LastingSandbox } from '../changes/index.js';
import type { VisibleWorkspace } from '../core/index.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import type { ScriptResult, SessionLoss } from './script-result.js';

type Place = Pick<VisibleWorkspace, 'id' | 'number'>;

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
export type OpenSession = (place: Place, use: ShellUse, script: string) => Promise<OpenShell>;

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

  run(place: Place, command: SessionCommand): Promise<ScriptResult> {
    const result = this.turn.then(() => this.perform(place, command));
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

  private async perform(place: Place, command: SessionCommand): Promise<ScriptResult> {
    const session_lost = (await this.lost()) ?? this.before;
    const session_new = this.opened === undefined;
    this.opened ??= await this.openFor(place, command.script);
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
      return this.perform(place, command);
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

  private async openFor(place: Place, script: string): Promise<OpenShell> {
    if (this.over) throw new SessionOver('The shell has ended');
    const opened = await this.open(place, this.use, script);
    // It was ended while its session was being made.
    if (this.over) await opened.session.end();
    return opened;
  }
}
