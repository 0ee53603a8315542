import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AccountsModule } from '../identity/accounts/index.js';
import { AuthModule } from '../identity/auth/index.js';
import { CredentialsModule } from '../identity/credentials/index.js';
import { InvitationsModule } from '../identity/invitations/index.js';
import { OAuthModule } from '../identity/oauth/index.js';
import { OrganizationsModule } from '../identity/organizations/index.js';
import { PageSessionsModule } from '../identity/page-sessions/index.js';
import { SessionsModule } from '../identity/sessions/index.js';
import { ArchivesController } from './archives/archives.controller.js';
import { ArchivesService } from './archives/archives.service.js';
import { FolderZips } from './archives/folder-zips.js';
import { ChangeLog } from './changes/change-log.js';
import { ChangeRetention } from './changes/change-retention.js';
import { ChangesController } from './changes/changes.controller.js';
import { ChangesService } from './changes/changes.service.js';
import { FileAuthors } from './changes/file-authors.js';
import { IntentRecovery } from './changes/intent-recovery.js';
import { NewestLogged } from './changes/newest-logged.js';
import { RecordedWrites } from './changes/recorded-writes.js';
import { SandboxWatch } from './changes/sandbox-watch.js';
import { Scans } from './changes/scans.js';
import { WorkspaceQuota } from './changes/workspace-quota.js';
import { WriteIntents } from './changes/write-intents.js';
import { ConsentWorkspaces } from './consent-workspaces.js';
import { DuplicateController } from './duplicate/duplicate.controller.js';
import { DuplicateJobs } from './duplicate/duplicate.jobs.js';
import { DuplicateService, OPERATION_QUEUE } from './duplicate/duplicate.service.js';
import { EgressController } from './egress/egress.controller.js';
import { EgressService } from './egress/egress.service.js';
import { EgressStore } from './egress/egress.store.js';
import { EgressSockets } from './egress/egress-sockets.js';
import { FeaturesController } from './features/features.controller.js';
import { FeaturesService } from './features/features.service.js';
import { FileTreeService } from './files/file-tree.service.js';
import { FileWritesService } from './files/file-writes.service.js';
import { FileWriting } from './files/file-writing.js';
import { FilesController } from './files/files.controller.js';
import { FilesService } from './files/files.service.js';
import {
  HISTORY_QUEUE,
  historyControllers,
  historyProviders,
  RunFiles,
  RunRollback,
} from './history/index.js';
import { WorkspaceMembersController } from './members/workspace-members.controller.js';
import { WorkspaceMembersService } from './members/workspace-members.service.js';
import { WorkspaceMembersStore } from './members/workspace-members.store.js';
import { StorageMeter } from './metering/storage-meter.js';
import { StoredElsewhere } from './metering/stored-elsewhere.js';
import { OperationsController } from './operations/operations.controller.js';
import { OperationsService } from './operations/operations.service.js';
import { OperationsStore } from './operations/operations.store.js';
import { RolesOfCallers } from './roles-of-callers.js';
import { ActionSockets } from './sandboxes/actions/action-sockets.js';
import { NamedShells } from './sandboxes/named-shells.js';
import { RunningSandboxes } from './sandboxes/running-sandboxes.js';
import { SandboxControlService } from './sandboxes/sandbox-control.service.js';
import { SandboxPlaces } from './sandboxes/sandbox-places.js';
import { SandboxesController } from './sandboxes/sandboxes.controller.js';
import { SandboxesService } from './sandboxes/sandboxes.service.js';
import { SearchController } from './search/search.controller.js';
import { SearchService } from './search/search.service.js';
import { TreeScan } from './search/tree-scan.js';
import { shareControllers, shareProviders } from './share/index.js';
import { BashTool } from './tools/bash.tool.js';
import {
  EditFileTool,
  ListFilesTool,
  ReadFileTool,
  SearchFilesTool,
  WriteFileTool,
} from './tools/file.tools.js';
import { LongOutputs } from './tools/long-outputs.js';
import { Toolbox } from './tools/toolbox.js';
import { ToolsController } from './tools/tools.controller.js';
import { ToolsService } from './tools/tools.service.js';
import {
  FeatureEnds,
  SandboxUids,
  UnfinishedWrites,
  WORKSPACE_QUEUE,
  WorkspaceFolders,
  WorkspaceJobs,
  WorkspacesController,
  WorkspacesService,
  WorkspacesStore,
} from './workspaces/index.js';

/** Workspaces and the files in them. */
@Module({
  imports: [
    AccountsModule,
    AuthModule,
    CredentialsModule,
    InvitationsModule,
    OAuthModule,
    OrganizationsModule,
    PageSessionsModule,
    SessionsModule,
    BullModule.registerQueue({ name: WORKSPACE_QUEUE }, { name: OPERATION_QUEUE }, { name: HISTORY_QUEUE }),
  ],
  controllers: [
    WorkspacesController,
    FilesController,
    ChangesController,
    ArchivesController,
    DuplicateController,
    OperationsController,
    SearchController,
    ToolsController,
    SandboxesController,
    EgressController,
    FeaturesController,
    WorkspaceMembersController,
    ...historyControllers,
    ...shareControllers,
  ],
  providers: [
    ActionSockets,
    WorkspacesService,
    WorkspacesStore,
    FeatureEnds,
    FeaturesService,
    UnfinishedWrites,
    SandboxUids,
    WorkspaceFolders,
    ConsentWorkspaces,
    RolesOfCallers,
    WorkspaceJobs,
    WorkspaceMembersService,
    WorkspaceMembersStore,
    FilesService,
    FileWriting,
    FileWritesService,
    FileTreeService,
    ChangeLog,
    ChangeRetention,
    ChangesService,
    NewestLogged,
    WriteIntents,
    IntentRecovery,
    RecordedWrites,
    Scans,
    FileAuthors,
    SandboxWatch,
    WorkspaceQuota,
    ArchivesService,
    FolderZips,
    DuplicateService,
    DuplicateJobs,
    OperationsService,
    OperationsStore,
    StorageMeter,
    StoredElsewhere,
    RunningSandboxes,
    SandboxPlaces,
    SandboxControlService,
    EgressService,
    EgressSockets,
    EgressStore,
    SandboxesService,
    NamedShells,
    SearchService,
    TreeScan,
    BashTool,
    ReadFileTool,
    WriteFileTool,
    EditFileTool,
    ListFilesTool,
    SearchFilesTool,
    Toolbox,
    LongOutputs,
    ...historyProviders,
    ...shareProviders,
    ToolsService,
  ],
  exports: [
    StoredElsewhere,
    WorkspaceQuota,
    WorkspacesService,
    WorkspacesStore,
    FeatureEnds,
    WorkspaceFolders,
    DuplicateService,
    FilesService,
    SandboxesService,
    RunFiles,
    RunRollback,
    ChangesService,
    Toolbox,
    LongOutputs,
    ToolsService,
    FileAuthors,
  ],
})
export class WorkspacesModule {}
