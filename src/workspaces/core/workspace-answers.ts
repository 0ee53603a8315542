import { Injectable, OnModuleInit } from '@nestjs/common';
import { WorkspaceChoices } from '../../identity/oauth/index.js';
import { CallerRoles } from '../../platform/actions/index.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Answers what the rooms below ask about workspaces. */
@Injectable()
export class WorkspaceAnswers implements OnModuleInit {
  constructor(
    private readonly choices: WorkspaceChoices,
    private readonly roles: CallerRoles,
    private readonly workspaces: WorkspacesStore,
  ) {}

  onModuleInit(): void {
    this.choices.askedOf(async (actor, limit) => (await this.workspaces.list(actor, { limit })).items);
    this.roles.askedOf(async (actor, workspaceId) => {
      if (workspaceId === null) return this.workspaces.rolesOf(actor);
      const unscoped = { ...actor, credential: { ...actor.credential, scopes: null } };
      const workspace = await this.workspaces.require(unscoped, 'workspace.read', workspaceId);
      return { organization: [], workspace: [workspace] };
    });
  }
}
