import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { HistoryModule } from '../../workspaces/history/index.js';
import { ApprovalsModule } from '../approvals/index.js';
import { ChatsModule } from '../chats/index.js';
import { ContextModule } from '../context/index.js';
import { RunApprovals } from './run-approvals.js';
import { ChatEventsService, RunEvents } from './run-events.service.js';
import { ChatEventsStore, RunEventPages } from './run-events.store.js';
import { RunIntake } from './run-intake.js';
import { RunAuthority } from './run-limits.js';
import { RunMetrics } from './run-metrics.js';
import { RunQueue } from './run-queue.js';
import { RunRecordsService, RunRollbackService } from './run-records.service.js';
import { RunRecordsStore } from './run-records.store.js';
import { RunStopper } from './run-stopper.js';
import { RunExecutor, RunWorker } from './run-worker.js';
import { RunsController } from './runs.controller.js';
import { RunsService } from './runs.service.js';
import { RunsStore } from './runs.store.js';
import { SteersStore } from './steers.store.js';
import { TasksStore } from './tasks.store.js';

/** Runs: their rows, their states, their events, and who works on them. */
@Module({
  imports: [CoreModule, HistoryModule, ChatsModule, ApprovalsModule, ContextModule],
  controllers: [
    RunsController,
    RoutesOf(RunsService),
    RoutesOf(RunRecordsService),
    RoutesOf(RunRollbackService),
  ],
  providers: [
    ChatEventsService,
    ChatEventsStore,
    RunApprovals,
    RunAuthority,
    RunEventPages,
    RunEvents,
    RunExecutor,
    RunIntake,
    RunMetrics,
    RunQueue,
    RunRecordsService,
    RunRecordsStore,
    RunRollbackService,
    RunStopper,
    RunWorker,
    RunsService,
    RunsStore,
    SteersStore,
    TasksStore,
  ],
  exports: [
    RunApprovals,
    RunAuthority,
    RunExecutor,
    RunIntake,
    RunQueue,
    RunStopper,
    RunsService,
    RunsStore,
    SteersStore,
    TasksStore,
  ],
})
export class RunsModule {}
