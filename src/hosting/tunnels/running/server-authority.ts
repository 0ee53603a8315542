import { Injectable, OnModuleInit } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { GrantedConnections } from '../../../connections/integrations/index.js';
import { type Actor, Credentials } from '../../../platform/access/index.js';
import { type ActionCaller, ExecTokens } from '../../../platform/actions/index.js';
import { Database } from '../../../platform/database/index.js';
import { Forbidden, Invalid } from '../../../platform/errors/index.js';
import { type ServerRow, ServersStore } from '../records/servers.store.js';

/** Exec tokens end with the program; their actor is checked at each call. */
const TOKEN_DAYS = 365;

/** What server programs may do: the actions and connections that the server lists, on the authority of whoever started it. */
@Injectable()
export class ServerAuthority implements OnModuleInit {
  /** Server id by the copy of the actor that stands for it. */
  private readonly servers = new WeakMap<Actor, string>();

  constructor(
    private readonly database: Database,
    private readonly tokens: ExecTokens,
    private readonly granted: GrantedConnections,
    private readonly credentials: Credentials,
    private readonly store: ServersStore,
  ) {}

  onModuleInit(): void {
    this.granted.limitBy(actor => this.listedFor(actor));
  }

  /** Caller for the sandbox, checked again at each call. Undefined if the server lists no actions. */
  async callerOf({
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

  async endActions({ id, actions }: ServerRow): Promise<void> {
    if (actions.length === 0) return;
    await this.database.transaction(unit => this.tokens.revokeFor(unit, { kind: 'server', id }));
  }

  /** Undefined if the server lists no connections. */
  actorOf({ id, actor, connections }: ServerRow): Actor | undefined {
    if (!actor || connections.length === 0) return undefined;
    const asked = { ...actor };
    this.servers.set(asked, id);
    return asked;
  }

  /** 403 if the caller may use no connections, 422 for one that is not granted. */
  async requireGranted(actor: Actor, workspaceId: string, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const granted = await this.granted.list(actor, workspaceId);
    const known = [...new Set(granted.flatMap(({ provider, name }) => [provider, name]))];
    const unknown = names.find(name => !known.includes(name));
    if (unknown === undefined) return;
    const meant = didYouMean(unknown, known);
    throw new Invalid(
      `connections: ${unknown} is granted to this workspace for no use of yours${meant ? `; did you mean ${meant}?` : '; have it granted first'}`,
    );
  }

  /** Checked for each request: what the server lists now, while the starter's key is valid. */
  private async listedFor(actor: Actor): Promise<readonly string[] | null> {
    const id = this.servers.get(actor);
    if (id === undefined) return null;
    const { credential, name } = actor;
    // A session is renewed, so what it started outlives it.
    if (credential.type !== 'session' && !(await this.credentials.stands(credential)))
      throw new Forbidden(
        `The key of ${name}, who started the server, was revoked or has run out; restart it`,
      );
    return (await this.store.find(id))?.connections ?? [];
  }
}
