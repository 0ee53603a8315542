import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Topics } from '../../platform/topics/index.js';
import {
  CredentialRules,
  type CredentialSource,
  credentialsTopic,
  type SandboxCredential,
  type SandboxUser,
} from '../../workspaces/egress/index.js';
import { connectionChanged, connectionGranted, GrantedConnections } from '../integrations/index.js';
import { deliveredBy } from './delivered.js';
import { type CredentialUser, DeliveredRules } from './delivered-rules.js';

/** Says which requests of a sandbox get the credential of which connection, for those who may use it there. */
@Injectable()
export class Delivery implements CredentialSource, OnModuleInit {
  constructor(
    private readonly rules: CredentialRules,
    private readonly granted: GrantedConnections,
    private readonly made: DeliveredRules,
    private readonly topics: Topics,
    private readonly events: Events,
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
    // The same object comes back when the sandbox is gone.
    const asked = user as CredentialUser;
    const connections = await this.usableBy(actor, workspaceId);
    const byPlace = new Map<string, SandboxCredential>();
    for (const delivered of connections.flatMap(deliveredBy)) {
      const { host, port, header } = delivered;
      const place = `${host}:${port} ${header.toLowerCase()}`;
      // Two are refused when they are granted; were there two all the same, the older one goes on.
      if (!byPlace.has(place)) byPlace.set(place, this.made.rule(asked, delivered));
    }
    return [...byPlace.values()];
  }

  ended(user: SandboxUser): Promise<void> {
    return this.made.ended(user);
  }

  private async usableBy(actor: Actor, workspaceId: string) {
    try {
      return await this.granted.list(actor, workspaceId);
    } catch (error) {
      // They may use none there, or are no members any more.
      const status = problemOf(error)?.status;
      if (status === 403 || status === 404) return [];
      throw error;
    }
  }

  private async tell(unit: UnitOfWork, workspaceIds: readonly string[]): Promise<void> {
    for (const id of workspaceIds) await this.topics.publishOnCommit(unit, credentialsTopic(id));
  }
}
