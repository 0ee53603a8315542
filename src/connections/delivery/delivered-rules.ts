import { Injectable } from '@nestjs/common';
import {
  type CredentialUse,
  type CredentialValue,
  EgressRefusal,
  prefixOf,
} from '#libs/egress-proxy/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Conflict, Forbidden, problemOf } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import type { SandboxCredential, SandboxUser } from '../../workspaces/egress/index.js';
import {
  type GrantedConnection,
  GrantedConnections,
  limitedToRepository,
  type OpenedCredential,
} from '../integrations/index.js';
import { ConnectionUses } from './connection-uses.js';
import { chooseService, type Delivered, deliveredBy } from './delivered.js';

/** User of a sandbox with an actor; others get no credentials. */
export type CredentialUser = SandboxUser & { readonly actor: Actor };

export interface Repository {
  readonly host: string;
  readonly port: number;
  /** Paths that git may request for this repository. */
  readonly paths: readonly string[];
  readonly name: string;
}

const GIT_METHODS = ['GET', 'POST'];

const findForGit = (connection: GrantedConnection, host: string, port: number): Delivered | undefined =>
  deliveredBy(connection).find(
    each => each.host === host && each.port === port && each.services.includes('git'),
  );

/** Rules for the proxies of sandboxes. A credential is opened for one request, if its connection is still granted as it was. */
@Injectable()
export class DeliveredRules {
  constructor(
    private readonly granted: GrantedConnections,
    private readonly uses: ConnectionUses,
    private readonly log: Log,
  ) {}

  /** `user` is handed to the ledger as it is: its rows end with {@link ConnectionUses.ended}. */
  rule(user: CredentialUser, delivered: Delivered): SandboxCredential {
    const { key, host, port, header, methods, paths, connection } = delivered;
    let last: OpenedCredential | undefined;
    const value = async (_signal: AbortSignal, path: string): Promise<CredentialValue> => {
      const opened = await this.open(user, delivered, path);
      last = opened;
      return { header: opened.value.reveal(), secrets: opened.traces.map(trace => trace.reveal()) };
    };
    const used = (use: CredentialUse): void => {
      this.uses.note(user, delivered, use);
      if (use.status === 401 && last) void this.reject(connection.id, last);
    };
    return {
      key,
      host,
      port,
      header,
      methods,
      paths,
      value,
      used,
      connectionId: connection.id,
      variables: connection.variables,
    };
  }

  /** Id of the connection that is granted for repositories of a host; null where the caller may use none. */
  async connectionFor(
    actor: Actor,
    workspaceId: string,
    { host, port }: Pick<Repository, 'host' | 'port'>,
  ): Promise<string | null> {
    try {
      const connections = await this.granted.list(actor, workspaceId);
      return connections.find(each => findForGit(each, host, port))?.id ?? null;
    } catch (error) {
      if (problemOf(error)?.status === 403) return null;
      throw error;
    }
  }

  /** For one repository and nothing else, to fetch or to push. 403 and 409 say why a connection cannot be used for it. */
  async forRepository(
    user: CredentialUser,
    connectionId: string,
    { host, port, paths, name }: Repository,
    level: 'read' | 'write',
  ): Promise<SandboxCredential> {
    const connection = await this.granted.require(user.actor, connectionId, user.workspaceId);
    const found = findForGit(connection, host, port);
    if (!found)
      throw new Conflict(`${connection.name} is for no repositories of ${host}; name another connection`);
    const permitted = paths.filter(path => prefixOf(found.paths, path) !== undefined);
    if (permitted.length === 0 || !GIT_METHODS.every(method => found.methods.includes(method)))
      throw new Forbidden(
        `${connection.name} is not granted to this workspace for ${paths.at(-1)} with GET and POST; its manager can add them`,
      );
    const limits = found.limits && limitedToRepository(found.limits, name, level);
    return {
      ...this.rule(user, { ...found, services: ['git'], limits }),
      paths: permitted,
      methods: GIT_METHODS,
      variables: [],
    };
  }

  ended(user: SandboxUser): Promise<void> {
    return this.uses.ended(user);
  }

  private async open(
    { actor, workspaceId }: CredentialUser,
    delivered: Delivered,
    path: string,
  ): Promise<OpenedCredential> {
    const { connection, key, limits } = delivered;
    try {
      const current = await this.granted.require(actor, connection.id, workspaceId);
      if (!deliveredBy(current).some(each => each.key === key))
        throw new EgressRefusal(
          'credential',
          `What ${connection.name} may be used for has changed; ask again`,
        );
      return await this.granted.open({ id: connection.id, limits }, chooseService(delivered, path));
    } catch (error) {
      const problem = problemOf(error);
      if (error instanceof EgressRefusal || !problem) throw error;
      const { status, detail } = problem;
      const message = `${connection.name} cannot be used: ${detail}`;
      throw status >= 500
        ? Object.assign(new Error(message), { status })
        : new EgressRefusal('credential', message);
    }
  }

  private async reject(id: string, opened: OpenedCredential): Promise<void> {
    try {
      await this.granted.reject(opened);
    } catch (error) {
      // The connection says so itself.
      if (!problemOf(error))
        this.log.warn({ err: error, connection_id: id }, 'a rejected credential was not looked at');
    }
  }
}
