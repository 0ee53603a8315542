import {
  type SandboxSession,
  type SessionCommand,
  type SessionEnd,
  SessionOver,
} from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/action-caller.js';
import type { VisibleWorkspace } from '../workspaces/index.js';
import type { SandboxCaller } from './running-sandboxes.js';
import type { ScriptResult } from './script-result.js';

type Place = Pick<VisibleWorkspace, 'id' | 'number'>;

/** For whom a shell is kept. */
export interface ShellUse {
  readonly caller: SandboxCaller;
  /** Who the command `actions` acts as; absent: there is no such command. */
  readonly actions?: ActionCaller;
}

/** Opens a session in which `script` is the first to run. */
export type OpenSession = (place: Place, use: ShellUse, script: string) => Promise<SandboxSession>;

/**
 * A shell that lasts over the commands of one run: folder, variables and background processes stay. Its session is opened
 * with the first command, and anew where it was lost; then the next result says so.
 */
export class Shell {
  private session: SandboxSession | undefined;
  private over = false;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly open: OpenSession,
    private readonly use: ShellUse,
  ) {}

  run(place: Place, command: SessionCommand): Promise<ScriptResult> {
    const result = this.turn.then(() => this.perform(place, command));
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** Ends what runs in it, and opens no more. Harmless twice. */
  async end(): Promise<void> {
    this.over = true;
    await this.session?.end();
  }

  private async perform(place: Place, command: SessionCommand): Promise<ScriptResult> {
    const lost = await this.lost();
    this.session ??= await this.opened(place, command.script);
    const result = await this.session.run(command);
    if (result.session_ended !== null) this.session = undefined;
    return { ...result, session_lost: lost };
  }

  /** Why the session that was there has ended since the last command; null if it has not. */
  private async lost(): Promise<SessionEnd | null> {
    if (!this.session) return null;
    const goesOn = Symbol();
    const end = await Promise.race([this.session.ended, Promise.resolve(goesOn)]);
    if (typeof end === 'symbol') return null;
    this.session = undefined;
    return end;
  }

  private async opened(place: Place, script: string): Promise<SandboxSession> {
    if (this.over) throw new SessionOver('The shell has ended');
    const session = await this.open(place, this.use, script);
    // It was ended while its session was being made.
    if (this.over) await session.end();
    return session;
  }
}
