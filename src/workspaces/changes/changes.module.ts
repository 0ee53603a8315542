import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { ChangeLogStore } from './change-log.store.js';
import { ChangesController } from './changes.controller.js';
import { ChangesService } from './changes.service.js';
import { FileAuthorsStore } from './file-authors.store.js';
import { FileWriter } from './file-writer.js';
import { LoggedGrowthStore } from './logged-growth.store.js';
import { NumberedChangesStore } from './numbered-changes.store.js';
import { RecordedWrites } from './recorded-writes.js';
import { SandboxWatch } from './sandbox-watch.js';
import { ScanRecovery } from './scan-recovery.js';
import { Scans } from './scans.js';
import { ScansStore } from './scans.store.js';
import { StorageMeter } from './storage-meter.js';
import { StoredElsewhere } from './stored-elsewhere.js';
import { WorkspaceQuota } from './workspace-quota.js';
import { WriteIntentsStore } from './write-intents.store.js';

/** Every write to a workspace: its quota, its number, who made it, who watches. */
@Module({
  imports: [CoreModule],
  controllers: [ChangesController],
  providers: [
    ChangeLogStore,
    ChangesService,
    FileAuthorsStore,
    FileWriter,
    LoggedGrowthStore,
    NumberedChangesStore,
    RecordedWrites,
    SandboxWatch,
    ScanRecovery,
    Scans,
    ScansStore,
    StorageMeter,
    StoredElsewhere,
    WorkspaceQuota,
    WriteIntentsStore,
  ],
  exports: [
    ChangeLogStore,
    ChangesService,
    FileAuthorsStore,
    FileWriter,
    NumberedChangesStore,
    RecordedWrites,
    SandboxWatch,
    StoredElsewhere,
    WorkspaceQuota,
  ],
})
export class ChangesModule {}
