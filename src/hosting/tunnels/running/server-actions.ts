import { Injectable } from '@nestjs/common';
import { type ActionCaller, ExecTokens } from '../../../platform/actions/index.js';
import { Database } from '../../../platform/database/index.js';
import { Forbidden } from '../../../platform/errors/index.js';
import type { ServerRow } from '../records/servers.store.js';

/** The token is as good as what it comes from; it ends when the server does. */
const TOKEN_DAYS = 365;

/** The actions that programs of servers run, on the authority of who started them. */
@Injectable()
export class ServerActions {
  constructor(
    private readonly database: Database,
    private readonly tokens: ExecTokens,
  ) {}

  /** Who calls from its sandbox, looked at again at each call; undefined where it may run none. */
  async of({
    id,
    actions,
    actor,
    workspace_id,
  }: ServerRow): Promise<(() => Promise<ActionCaller>) | undefined> {
    if (actions.length === 0 || !actor) return undefined;
    const token = await this.database.transaction(async unit => {
      await this.tokens.revokeFor(unit, { kind: 'server', id });
      return this.tokens.mint(unit, {
        actor,
        workspaceId: workspace_id,
        caller: { kind: 'server', id },
        actions,
        expiresAt: new Date(Date.now() + TOKEN_DAYS * 86_400_000),
      });
    });
    return async () => {
      const caller = await this.tokens.callerOf(token);
      if (!caller) throw new Forbidden('The token of this server was revoked; restart the server');
      return caller;
    };
  }

  /** Its program has ended. */
  async end({ id, actions }: ServerRow): Promise<void> {
    if (actions.length === 0) return;
    await this.database.transaction(unit => this.tokens.revokeFor(unit, { kind: 'server', id }));
  }
}
