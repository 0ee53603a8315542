import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { HistoryModule } from '../../workspaces/history/index.js';
import { ApprovalsModule } from '../approvals/index.js';
import { ChatsModule } from '../chats/index.js';
import { QuestionsModule } from '../questions/index.js';
import { ChatEventsStore } from './chat-events.store.js';
import { RunAttemptStore } from './run-attempt.store.js';
import { RunAuthority } from './run-authority.js';
import { AgentsOff, RunApprovals, RunStopper } from './run-control.js';
import { RunEventTail } from './run-event-tail.js';
import { ChatEventsService, RunEvents } from './run-events.service.js';
import { RunEventPages } from './run-events.store.js';
import { RunFiles } from './run-files.store.js';
import { RunIntake } from './run-intake.store.js';
import { RunJournals } from './run-journal.js';
import { RUNS, RunQueue } from './run-queue.store.js';
import { RunRecordsService, RunRollbackService } from './run-records.service.js';
import { RunExecutor, RunWorker } from './run-worker.js';
import { RunWriter } from './run-writer.store.js';
import { RunsController } from './runs.controller.js';
import { RunsService } from './runs.service.js';
import { RunsStore } from './runs.store.js';
import { TasksStore } from './tasks.store.js';

/** Runs: their rows, their states, their events, and who works on them. */
@Module({
  imports: [
    BullModule.registerQueue({ name: RUNS }),
    ...[CoreModule, ChangesModule, HistoryModule, ChatsModule, ApprovalsModule, QuestionsModule],
  ],
  controllers: [
    RunsController,
    RoutesOf(RunsService),
    RoutesOf(RunRecordsService),
    RoutesOf(RunRollbackService),
  ],
  providers: [
    AgentsOff,
    ChatEventsService,
    ChatEventsStore,
    RunApprovals,
    RunAttemptStore,
    RunAuthority,
    RunEventPages,
    RunEventTail,
    RunEvents,
    RunExecutor,
    RunFiles,
    RunIntake,
    RunJournals,
    RunQueue,
    RunRecordsService,
    RunRollbackService,
    RunStopper,
    RunWorker,
    RunWriter,
    RunsService,
    RunsStore,
    TasksStore,
  ],
  exports: [
    RunApprovals,
    RunAuthority,
    RunEvents,
    RunExecutor,
    RunFiles,
    RunIntake,
    RunJournals,
    RunQueue,
    RunStopper,
    RunWriter,
    RunsService,
    RunsStore,
    TasksStore,
  ],
})
export class RunsModule {}
