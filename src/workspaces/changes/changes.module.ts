import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { ChangeLog } from './change-log.store.js';
import { ChangesController } from './changes.controller.js';
import { ChangesService } from './changes.service.js';
import { FileAuthors } from './file-authors.store.js';
import { FileWriter } from './file-writer.js';
import { LoggedGrowthStore } from './logged-growth.store.js';
import { NumberedChanges } from './numbered-changes.store.js';
import { RecordedWrites } from './recorded-writes.js';
import { SandboxWatch } from './sandbox-watch.js';
import { Scans } from './scans.js';
import { StorageMeter } from './storage-meter.js';
import { StoredElsewhere } from './stored-elsewhere.js';
import { ScansStore, WriteIntents } from './unrecorded.store.js';
import { WorkspaceQuota } from './workspace-quota.js';

/** Every write to a workspace: its quota, its number, who made it, who watches. */
@Module({
  imports: [CoreModule],
  controllers: [ChangesController],
  providers: [
    ChangeLog,
    ChangesService,
    FileAuthors,
    FileWriter,
    LoggedGrowthStore,
    NumberedChanges,
    RecordedWrites,
    SandboxWatch,
    Scans,
    ScansStore,
    StorageMeter,
    StoredElsewhere,
    WorkspaceQuota,
    WriteIntents,
  ],
  exports: [
    ChangeLog,
    ChangesService,
    FileAuthors,
    FileWriter,
    NumberedChanges,
    RecordedWrites,
    SandboxWatch,
    StoredElsewhere,
    WorkspaceQuota,
  ],
})
export class ChangesModule {}
