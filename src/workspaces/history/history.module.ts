import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { SandboxesModule } from '../sandboxes/index.js';
import { GitStore } from './git-store.js';
import { HistoryController } from './history.controller.js';
import { HISTORY, HistoryJobs, HistoryTrim } from './history.jobs.js';
import { HistoryProcessor } from './history.processor.js';
import { HistoryService } from './history.service.js';
import { HistoryCapture } from './history-capture.js';
import { HistoryKeeper } from './history-keeper.js';
import { HistoryPass } from './history-pass.js';
import { HistoryTrimStore } from './history-trim.store.js';
import { KeptCopies } from './kept-copies.js';
import { RunFiles } from './run-files.js';
import { RunRollback } from './run-rollback.js';
import { VersionReadsStore } from './version-reads.store.js';
import { VersionsStore } from './versions.store.js';

/** Versions of a workspace: kept, compared, restored. */
@Module({
  imports: [BullModule.registerQueue({ name: HISTORY }), CoreModule, ChangesModule, SandboxesModule],
  controllers: [RoutesOf(HistoryService), HistoryController],
  providers: [
    GitStore,
    HistoryCapture,
    HistoryKeeper,
    HistoryPass,
    HistoryProcessor,
    HistoryTrim,
    HistoryTrimStore,
    HistoryJobs,
    HistoryService,
    KeptCopies,
    RunFiles,
    RunRollback,
    VersionReadsStore,
    VersionsStore,
  ],
  exports: [RunFiles, RunRollback],
})
export class HistoryModule {}
