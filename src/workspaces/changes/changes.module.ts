import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { MeteringModule } from '../metering/index.js';
import { ChangeLog } from './change-log.js';
import { ChangeRetention } from './change-retention.js';
import { ChangesController } from './changes.controller.js';
import { ChangesService } from './changes.service.js';
import { FileAuthors } from './file-authors.js';
import { IntentRecovery } from './intent-recovery.js';
import { NewestLogged } from './newest-logged.js';
import { RecordedWrites } from './recorded-writes.js';
import { SandboxWatch } from './sandbox-watch.js';
import { Scans } from './scans.js';
import { WorkspaceQuota } from './workspace-quota.js';
import { WriteIntents } from './write-intents.js';

/** Every write to a workspace: its quota, its number, who made it, who watches. */
@Module({
  imports: [CoreModule, MeteringModule],
  controllers: [ChangesController],
  providers: [
    ChangeLog,
    ChangeRetention,
    ChangesService,
    FileAuthors,
    IntentRecovery,
    NewestLogged,
    RecordedWrites,
    SandboxWatch,
    Scans,
    WorkspaceQuota,
    WriteIntents,
  ],
  exports: [ChangeLog, ChangesService, FileAuthors, RecordedWrites, SandboxWatch, WorkspaceQuota],
})
export class ChangesModule {}
