import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { EgressModule } from '../../workspaces/egress/index.js';
import { OperationsModule } from '../../workspaces/operations/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { DeliveryModule } from '../delivery/index.js';
import { CloneQueue, GIT } from './clone-queue.js';
import { GitNetwork } from './git/git-network.js';
import { GitSandbox } from './git/git-sandbox.js';
import { GitProcessor } from './git.processor.js';
import { GitReadsService } from './git-reads.service.js';
import { GitReposService } from './git-repos.service.js';
import { GitReposStore } from './git-repos.store.js';
import { GitWritesService } from './git-writes.service.js';
import { RepoClone } from './repo-clone.js';
import { RepoWork } from './repo-work.js';

/** Git repositories in workspaces: cloned, read, changed, pulled and pushed. */
@Module({
  imports: [
    BullModule.registerQueue({ name: GIT }),
    CoreModule,
    EgressModule,
    SandboxesModule,
    OperationsModule,
    DeliveryModule,
  ],
  controllers: [RoutesOf(GitReposService), RoutesOf(GitReadsService), RoutesOf(GitWritesService)],
  providers: [
    GitReposService,
    GitReadsService,
    GitWritesService,
    GitReposStore,
    CloneQueue,
    GitSandbox,
    GitNetwork,
    RepoWork,
    GitProcessor,
    RepoClone,
  ],
})
export class GitReposModule {}
