import { Injectable, OnModuleInit } from '@nestjs/common';
import { WorkspaceChoices } from '../../identity/oauth/index.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Tells the consent page which workspaces a person can let an application into: those that they see. */
@Injectable()
export class ConsentWorkspaces implements OnModuleInit {
  constructor(
    private readonly choices: WorkspaceChoices,
    private readonly workspaces: WorkspacesStore,
  ) {}

  onModuleInit(): void {
    this.choices.askedOf((actor, limit) => this.workspaces.list(actor, { limit }));
  }
}
