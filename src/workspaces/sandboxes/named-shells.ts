import { Injectable, OnModuleDestroy } from '@nestjs/common';
import type { SandboxSession } from '#libs/sandbox/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { RunningSandboxes, SessionElsewhere } from './running-sandboxes.js';
import { SandboxesService, type Shell } from './sandboxes.service.js';

const MAX_OF_CALLER = 8;

interface Held {
  readonly shell: Shell;
  readonly owner: string;
  readonly name: string;
  /** Commands that run in it, or wait. */
  users: number;
  idle?: NodeJS.Timeout;
  followed?: SandboxSession;
}

/**
 * Shells that callers come back to by name, each caller to their own. One that is idle for `idle_seconds` of SANDBOX_LIMITS
 * is ended.
 */
@Injectable()
export class NamedShells implements OnModuleDestroy {
  private readonly held = new Map<string, Held>();

  constructor(
    private readonly config: Config,
    private readonly sandboxes: SandboxesService,
    private readonly running: RunningSandboxes,
    private readonly log: Log,
  ) {}

  async onModuleDestroy(): Promise<void> {
    const all = [...this.held.keys()];
    await Promise.all(all.map(key => this.end(key)));
  }

  /**
   * Gets or creates the caller's shell of this name; 409 if there are too many. Throws SessionElsewhere where another
   * process has it.
   */
  async use<T>(
    actor: Actor,
    workspaceId: string,
    name: string,
    work: (shell: Shell) => Promise<T>,
  ): Promise<T> {
    const owner = `${workspaceId} ${actor.id}`;
    const key = `${owner} ${name}`;
    if (!this.held.has(key)) {
      const names = await this.running.sessionsOf(workspaceId, actor.id, name);
      if (!this.held.has(key)) this.add(key, { owner, name }, actor, names);
    }
    const held = this.held.get(key) as Held;
    held.users++;
    clearTimeout(held.idle);
    try {
      return await work(held.shell);
    } catch (error) {
      // Another process opened it at the same time.
      if (error instanceof SessionElsewhere) this.forget(key, held);
      throw error;
    } finally {
      held.users--;
      if (held.users === 0) this.release(key, held);
    }
  }

  /** `names`: of the caller's open sessions. */
  private add(
    key: string,
    { owner, name }: Pick<Held, 'owner' | 'name'>,
    actor: Actor,
    names: string[],
  ): void {
    const all = new Set(names);
    for (const one of this.held.values()) if (one.owner === owner) all.add(one.name);
    all.delete(name);
    if (all.size >= MAX_OF_CALLER)
      throw new Conflict(`You have ${all.size} sessions in this workspace already; end one first`);
    const shell = this.sandboxes.openShell({ caller: { kind: 'tool', id: actor.id }, actor, name });
    this.held.set(key, { shell, owner, name, users: 0 });
  }

  private release(key: string, held: Held): void {
    const { session } = held.shell;
    // No command opened a session, or one ended it.
    if (!session) this.forget(key, held);
    else {
      held.idle = setTimeout(() => this.endIdle(key), this.config.sandboxLimits.idle_seconds * 1000).unref();
      this.follow(key, held, session);
    }
  }

  private follow(key: string, held: Held, session: SandboxSession): void {
    if (held.followed === session) return;
    held.followed = session;
    void session.ended.then(() => {
      if (held.users === 0 && held.shell.session === session) this.forget(key, held);
    });
  }

  private forget(key: string, held: Held): void {
    clearTimeout(held.idle);
    if (this.held.get(key) === held) this.held.delete(key);
  }

  private endIdle(key: string): void {
    this.end(key).catch((error: unknown) => this.log.warn({ err: error }, 'a session could not be ended'));
  }

  private async end(key: string): Promise<void> {
    const held = this.held.get(key);
    if (!held) return;
    this.forget(key, held);
    await held.shell.end();
  }
}
