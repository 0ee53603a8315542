import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { CallLost, NotHere, RpcClient, type RpcHooks, RpcServer } from '../../platform/rpc/index.js';
import { NamedShells, SessionElsewhere } from '../../workspaces/sandboxes/index.js';
import { ShellTools } from './shell.tools.js';
import { failed, outcomeOf, type ToolResult } from './tool-provider.js';

const METHOD = 'session-command';
/** How often a session may be somewhere else than it was a moment ago. */
const MAX_MOVES = 5;

/** A call of a shell tool in a named session of its caller. */
export interface SessionCommand {
  readonly actor: Actor;
  readonly workspaceId: string;
  readonly session: string;
  readonly tool: string;
  readonly input: object;
}

type SessionResult = Omit<ToolResult, 'whole' | 'changed' | 'plan'>;

/** Runs commands in named sessions, each in the process that has the session. */
@Injectable()
export class SessionCommands implements OnModuleInit {
  constructor(
    private readonly shells: NamedShells,
    private readonly tools: ShellTools,
    private readonly client: RpcClient,
    private readonly server: RpcServer,
  ) {}

  onModuleInit(): void {
    this.server.handle(METHOD, (command: SessionCommand, hooks) => this.runHere(command, hooks));
  }

  async run(command: SessionCommand, hooks: RpcHooks): Promise<SessionResult> {
    for (let moves = 0; moves < MAX_MOVES; moves++)
      try {
        return await this.runHere(command, hooks);
      } catch (error) {
        if (!(error instanceof SessionElsewhere)) throw error;
        const result = error.processId && (await this.runThere(error.processId, command, hooks));
        if (result) return result;
      }
    throw new Unavailable(`The session ${command.session} moves from process to process; try again`);
  }

  private async runHere(
    { actor, workspaceId, session, tool: name, input }: SessionCommand,
    hooks: RpcHooks,
  ): Promise<SessionResult> {
    const tool = this.tools.find(name);
    if (!tool)
      throw new Unavailable(`This process has no ${name} yet; try again when the service is upgraded`);
    const {
      whole: _,
      changed: __,
      plan: ___,
      ...result
    } = await this.shells.use(actor, workspaceId, session, shell =>
      outcomeOf(tool.run({ actor, workspaceId, shell, ...hooks }, input)),
    );
    return result;
  }

  /** Undefined where the session is not there any more, and nothing was done. */
  private async runThere(
    processId: string,
    command: SessionCommand,
    hooks: RpcHooks,
  ): Promise<SessionResult | undefined> {
    try {
      return (await this.client.call(processId, METHOD, command, hooks)) as SessionResult;
    } catch (error) {
      if (error instanceof NotHere) return undefined;
      if (error instanceof CallLost) return failed(LOST);
      throw error;
    }
  }
}

const LOST =
  'The session ended with the process of the service that held it. How far the command came is not known; the next one begins a new session.';
