import { Injectable, OnModuleInit } from '@nestjs/common';
import { type CredentialUse, type CredentialValue, EgressRefusal } from '#libs/egress-proxy/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Log } from '../../platform/log/index.js';
import { Topics } from '../../platform/topics/index.js';
import {
  CredentialRules,
  type CredentialSource,
  credentialsTopic,
  type SandboxCredential,
  type SandboxUser,
} from '../../workspaces/egress/index.js';
import { connectionChanged, connectionGranted, GrantedConnections } from '../integrations/index.js';
import { ConnectionUses } from './connection-uses.js';
import { type Delivered, deliveredBy, serviceOf } from './delivered.js';

/** Says which requests of a sandbox get the credential of which connection, for those who may use it there. */
@Injectable()
export class Delivery implements CredentialSource, OnModuleInit {
  constructor(
    private readonly rules: CredentialRules,
    private readonly granted: GrantedConnections,
    private readonly uses: ConnectionUses,
    private readonly topics: Topics,
    private readonly events: Events,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.rules.register(this);
    this.events.on(connectionGranted, (unit, { workspace_ids }) => this.tell(unit, workspace_ids));
    this.events.on(connectionChanged, async (unit, { connection_id }) =>
      this.tell(unit, await this.granted.workspacesOf(unit, connection_id)),
    );
  }

  async rulesFor(user: SandboxUser): Promise<SandboxCredential[]> {
    const { actor, workspaceId } = user;
    if (!actor) return [];
    const connections = await this.usableBy(actor, workspaceId);
    const byPlace = new Map<string, SandboxCredential>();
    for (const delivered of connections.flatMap(deliveredBy)) {
      const { host, port, header } = delivered;
      const place = `${host}:${port} ${header.toLowerCase()}`;
      // Two are refused when they are granted; were there two all the same, the older one goes on.
      if (!byPlace.has(place)) byPlace.set(place, this.ruleOf({ ...user, actor }, user, delivered));
    }
    return [...byPlace.values()];
  }

  ended(user: SandboxUser): Promise<void> {
    return this.uses.ended(user);
  }

  private ruleOf(
    { actor, workspaceId }: SandboxUser & { readonly actor: Actor },
    user: SandboxUser,
    delivered: Delivered,
  ): SandboxCredential {
    const { key, host, port, header, methods, paths, connection } = delivered;
    let revision: number | undefined;
    const value = async (_signal: AbortSignal, path: string): Promise<CredentialValue> => {
      const opened = await this.open(actor, workspaceId, delivered, path);
      revision = opened.revision;
      const { value: held, traces } = opened;
      return { header: held.reveal(), secrets: traces.map(trace => trace.reveal()) };
    };
    const used = (use: CredentialUse): void => {
      this.uses.note(user, delivered, use);
      if (use.status === 401 && revision !== undefined) void this.reject(connection.id, revision);
    };
    return {
      ...{ key, host, port, header, methods, paths, value, used },
      ...{ connectionId: connection.id, variables: connection.variables },
    };
  }

  /** For one request: what was granted a moment ago may not be any more. */
  private async open(actor: Actor, workspaceId: string, delivered: Delivered, path: string) {
    const { connection, key } = delivered;
    try {
      const current = await this.granted.require(actor, connection.id, workspaceId);
      if (!deliveredBy(current).some(each => each.key === key))
        throw new EgressRefusal(
          'credential',
          `What ${connection.name} may be used for has changed; ask again`,
        );
      return await this.granted.open(connection.id, serviceOf(delivered, path));
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

  private async usableBy(actor: Actor, workspaceId: string) {
    try {
      return await this.granted.of(actor, workspaceId);
    } catch (error) {
      // They may use none there, or are no members any more.
      const status = problemOf(error)?.status;
      if (status === 403 || status === 404) return [];
      throw error;
    }
  }

  private async reject(id: string, revision: number): Promise<void> {
    try {
      await this.granted.reject(id, revision);
    } catch (error) {
      // The connection says so itself.
      if (!problemOf(error))
        this.log.warn({ err: error, connection_id: id }, 'a rejected credential was not looked at');
    }
  }

  private async tell(unit: UnitOfWork, workspaceIds: readonly string[]): Promise<void> {
    for (const id of workspaceIds) await this.topics.publishOnCommit(unit, credentialsTopic(id));
  }
}
