import { Module } from '@nestjs/common';
import { OAuthModule } from '../../identity/oauth/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { ConsentWorkspaces } from './consent-workspaces.js';
import { FeatureEnds } from './feature-ends.js';
import { RolesOfCallers } from './roles-of-callers.js';
import { SandboxUids } from './sandbox-uids.js';
import { UnfinishedWrites } from './unfinished-writes.js';
import { WorkspaceFolders } from './workspace-folders.js';
import { WorkspacesController } from './workspaces.controller.js';
import { WorkspaceJobs } from './workspaces.jobs.js';
import { WorkspacesService } from './workspaces.service.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Workspaces themselves: who sees them, where their files lie, their life from creation to deletion. */
@Module({
  imports: [OAuthModule, OrganizationsModule],
  controllers: [WorkspacesController],
  providers: [
    ConsentWorkspaces,
    FeatureEnds,
    RolesOfCallers,
    SandboxUids,
    UnfinishedWrites,
    WorkspaceFolders,
    WorkspaceJobs,
    WorkspacesService,
    WorkspacesStore,
  ],
  exports: [WorkspacesService, WorkspacesStore, FeatureEnds, WorkspaceFolders, UnfinishedWrites],
})
export class CoreModule {}
