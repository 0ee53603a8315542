import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OAuthModule } from '../../identity/oauth/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { FeatureEnds } from './feature-ends.js';
import { SandboxUids } from './sandbox-uids.js';
import { StandingAuthority } from './standing-authority.js';
import { UnfinishedWrites } from './unfinished-writes.js';
import { WorkspaceAnswers } from './workspace-answers.js';
import { WorkspaceFolders } from './workspace-folders.js';
import { WORKSPACES, WorkspacesProcessor } from './workspaces.jobs.js';
import { WorkspacesService } from './workspaces.service.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Workspaces themselves: who sees them, where their files lie, their life from creation to deletion. */
@Module({
  imports: [BullModule.registerQueue({ name: WORKSPACES }), OAuthModule, OrganizationsModule],
  controllers: [RoutesOf(WorkspacesService)],
  providers: [
    FeatureEnds,
    SandboxUids,
    StandingAuthority,
    UnfinishedWrites,
    WorkspaceAnswers,
    WorkspaceFolders,
    WorkspacesProcessor,
    WorkspacesService,
    WorkspacesStore,
  ],
  exports: [
    WorkspacesService,
    WorkspacesStore,
    FeatureEnds,
    WorkspaceFolders,
    UnfinishedWrites,
    StandingAuthority,
  ],
})
export class CoreModule {}
