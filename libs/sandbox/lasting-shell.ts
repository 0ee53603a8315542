import { SessionOver } from './errors.js';
import type { SandboxSession, SessionCommand, SessionEnd, SessionResult } from './session.js';

/** `taken_up`: another shell ran the commands before. */
export type SessionLoss = SessionEnd | 'taken_up';

export interface LastingResult extends SessionResult {
  /** Why the session before this one, which is new, had ended. */
  session_lost: SessionLoss | null;
  session_new: boolean;
}

export interface OpenedSession<Extras extends object> {
  readonly session: SandboxSession;
  /** What else goes into the result of a command that has ended. */
  readonly extras: () => Extras;
}

/**
 * A shell that lasts over commands: folder, variables and background processes stay. The first command opens its session, at
 * the place that it names; when it is lost, the next opens another, and its result says so.
 */
export class LastingShell<Place, Extras extends object> {
  private opened: OpenedSession<Extras> | undefined;
  private over = false;
  private before: SessionLoss | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private settling: Promise<void> | undefined;
  private settled: SandboxSession | undefined;

  constructor(private readonly open: (place: Place, script: string) => Promise<OpenedSession<Extras>>) {}

  /** Another shell ran earlier commands: the first result says that this is a new one. */
  takeUp(): void {
    this.before = 'taken_up';
  }

  run(place: Place, command: SessionCommand): Promise<LastingResult & Extras> {
    const result = this.turn.then(() => this.perform(place, command));
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

  private async perform(place: Place, command: SessionCommand): Promise<LastingResult & Extras> {
    const session_lost = (await this.lost()) ?? this.before;
    const session_new = this.opened === undefined;
    this.opened ??= await this.openFor(place, command.script);
    const { session, extras } = this.opened;
    try {
      const result = await session.run(command);
      this.before = null;
      if (result.session_ended !== null) this.opened = undefined;
      return { ...result, session_lost, session_new, ...extras() };
    } catch (error) {
      if (!(error instanceof SessionOver) || this.over) throw error;
      // It ended just now; the command has not begun.
      await session.ended;
      return this.perform(place, command);
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

  private async openFor(place: Place, script: string): Promise<OpenedSession<Extras>> {
    if (this.over) throw new SessionOver('The shell has ended');
    const opened = await this.open(place, script);
    if (this.over) await opened.session.end();
    return opened;
  }
}
