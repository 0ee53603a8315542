import { Module } from '@nestjs/common';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { EgressModule } from '../../workspaces/egress/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { BuildEgress } from './build-egress.js';
import { BuildSandboxes } from './build-sandboxes.js';
import { Dependencies } from './dependencies.js';
import { FolderDependencies } from './folder-dependencies.js';
import { ModuleCache } from './module-cache.js';
import { ProjectBuilds } from './project-builds.js';

/** Builds projects with npm, in sandboxes. */
@Module({
  imports: [ChangesModule, CoreModule, EgressModule, SandboxesModule],
  providers: [BuildEgress, BuildSandboxes, Dependencies, FolderDependencies, ModuleCache, ProjectBuilds],
  exports: [FolderDependencies, ProjectBuilds],
})
export class BuildsModule {}
