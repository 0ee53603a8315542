import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { BillingModule } from '../../identity/billing/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { EgressModule } from '../../workspaces/egress/index.js';
import { HistoryModule } from '../../workspaces/history/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { ApprovalsModule } from '../approvals/index.js';
import { AttachmentsModule } from '../attachments/index.js';
import { ChatsModule } from '../chats/index.js';
import { InstructionsModule } from '../instructions/index.js';
import { ModelsModule } from '../models/index.js';
import { QuestionsModule } from '../questions/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { ToolsModule } from '../tools/index.js';
import { CallGates } from './call-gate.js';
import { CallResults } from './call-results.js';
import { ChatEventsStore } from './chat-events.store.js';
import { ModelCaller } from './model-call.js';
import { ModelSteps } from './model-step.js';
import { ReachableHosts } from './reachable-hosts.js';
import { RunAcceptance } from './run-acceptance.store.js';
import { RunAttemptStore } from './run-attempt.store.js';
import { RunAttempts } from './run-attempts.js';
import { RunAuthority } from './run-authority.js';
import { AgentsOff, RunApprovals, RunStopper } from './run-control.js';
import { RunEnds } from './run-ends.js';
import { RunEventTail } from './run-event-tail.js';
import { ChatEventsService, RunEvents } from './run-events.service.js';
import { RunEventPages } from './run-events.store.js';
import { RunExecution } from './run-execution.js';
import { RunFiles } from './run-files.store.js';
import { RunGuides } from './run-guides.js';
import { RunJournals } from './run-journal.js';
import { RUNS, RunQueue } from './run-queue.store.js';
import { RunRecordsService, RunRollbackService } from './run-records.service.js';
import { ToolGateway } from './run-tools.js';
import { RunWorker } from './run-worker.js';
import { RunWriter } from './run-writer.store.js';
import { RunsController } from './runs.controller.js';
import { RunsService } from './runs.service.js';
import { RunsStore } from './runs.store.js';
import { TaskRunner } from './subtasks.js';
import { SystemPrompts } from './system-prompt.js';
import { TaskIntake, TaskQuota, TaskStarter, TaskTools } from './task-starter.js';
import { TasksStore } from './tasks.store.js';
import { ToolRounds } from './tool-round.js';

/** Runs: accepted, claimed, executed, controlled from outside, and read. */
@Module({
  imports: [
    BullModule.registerQueue({ name: RUNS }),
    BillingModule,
    CoreModule,
    ChangesModule,
    HistoryModule,
    EgressModule,
    SandboxesModule,
    InstructionsModule,
    ModelsModule,
    SubagentsModule,
    AttachmentsModule,
    ChatsModule,
    ApprovalsModule,
    QuestionsModule,
    ToolsModule,
  ],
  controllers: [
    RunsController,
    RoutesOf(RunsService),
    RoutesOf(RunRecordsService),
    RoutesOf(RunRollbackService),
  ],
  providers: [
    AgentsOff,
    CallGates,
    CallResults,
    ChatEventsService,
    ChatEventsStore,
    ModelCaller,
    ModelSteps,
    ReachableHosts,
    RunAcceptance,
    RunApprovals,
    RunAttemptStore,
    RunAttempts,
    RunAuthority,
    RunEnds,
    RunEventPages,
    RunEventTail,
    RunEvents,
    RunExecution,
    RunFiles,
    RunGuides,
    RunJournals,
    RunQueue,
    RunRecordsService,
    RunRollbackService,
    RunStopper,
    RunWorker,
    RunWriter,
    RunsService,
    RunsStore,
    SystemPrompts,
    TaskIntake,
    TaskQuota,
    TaskRunner,
    TaskStarter,
    TaskTools,
    TasksStore,
    ToolGateway,
    ToolRounds,
  ],
  exports: [
    ModelCaller,
    RunAcceptance,
    RunApprovals,
    RunEvents,
    RunJournals,
    RunQueue,
    RunStopper,
    RunWriter,
    RunsService,
    RunsStore,
    TaskIntake,
  ],
})
export class RunsModule {}
