import { Module } from '@nestjs/common';
import { ArchivesModule } from './archives/index.js';
import { ChangesModule } from './changes/index.js';
import { CoreModule } from './core/index.js';
import { DuplicateModule } from './duplicate/index.js';
import { EgressModule } from './egress/index.js';
import { FeaturesModule } from './features/index.js';
import { FilesModule } from './files/index.js';
import { HistoryModule } from './history/index.js';
import { WorkspaceMembersModule } from './members/index.js';
import { OperationsModule } from './operations/index.js';
import { SandboxesModule } from './sandboxes/index.js';
import { SearchModule } from './search/index.js';
import { TemplatesModule } from './templates/index.js';

/** Workspaces and all that is done in them. */
@Module({
  imports: [
    CoreModule,
    WorkspaceMembersModule,
    ChangesModule,
    EgressModule,
    SandboxesModule,
    ArchivesModule,
    FilesModule,
    SearchModule,
    HistoryModule,
    OperationsModule,
    DuplicateModule,
    FeaturesModule,
    TemplatesModule,
  ],
})
export class WorkspacesModule {}
