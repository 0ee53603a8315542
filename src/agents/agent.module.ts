import { BeforeApplicationShutdown, Module } from '@nestjs/common';
import { BillingModule } from '../identity/billing/index.js';
import { CredentialsModule } from '../identity/credentials/index.js';
import { OrganizationsModule } from '../identity/organizations/index.js';
import { PageSessionsModule } from '../identity/page-sessions/index.js';
import { EventStreams } from '../platform/streams/index.js';
import { ChangesModule } from '../workspaces/changes/index.js';
import { CoreModule } from '../workspaces/core/index.js';
import { DuplicateModule } from '../workspaces/duplicate/index.js';
import { FilesModule } from '../workspaces/files/index.js';
import { HistoryModule } from '../workspaces/history/index.js';
import { MeteringModule } from '../workspaces/metering/index.js';
import { SandboxesModule } from '../workspaces/sandboxes/index.js';
import { ToolsModule } from '../workspaces/tools/index.js';
import { AgentActions } from './actions/agent-actions.js';
import { AgentController } from './agent/agent.controller.js';
import { AgentService } from './agent/agent.service.js';
import { ChatEventsService } from './agent/chat-events.service.js';
import { ChatEventsStore } from './agent/chat-events.store.js';
import { Deliveries } from './agent/deliveries.js';
import { QueueController } from './agent/queue.controller.js';
import { QueueService } from './agent/queue.service.js';
import { QueueStore } from './agent/queue.store.js';
import { ResponseSchemas } from './agent/response-check.js';
import { RunApprovals } from './agent/run-approvals.js';
import { RunAuthority } from './agent/run-authority.js';
import { RunControlController } from './agent/run-control.controller.js';
import { RunControlService } from './agent/run-control.service.js';
import { RunEventPages } from './agent/run-event-pages.js';
import { RunEvents } from './agent/run-events.js';
import { RunIntake } from './agent/run-intake.js';
import { RunLoop } from './agent/run-loop.js';
import { RunMetrics } from './agent/run-metrics.js';
import { RunQueue } from './agent/run-queue.js';
import { RunRecordsService } from './agent/run-records.service.js';
import { RunRecordsStore } from './agent/run-records.store.js';
import { RunRollbackService } from './agent/run-rollback.service.js';
import { RunStopper } from './agent/run-stopper.js';
import { RunWorker } from './agent/run-worker.js';
import { RunsService } from './agent/runs.service.js';
import { RunsStore } from './agent/runs.store.js';
import { SteersStore } from './agent/steers.store.js';
import { StepCaller } from './agent/step-caller.js';
import { ToolGateway } from './agent/tool-gateway.js';
import { WorkspaceRuns } from './agent/workspace-runs.js';
import { ApprovalAccess } from './approvals/approval-access.js';
import { ApprovalPolicies } from './approvals/approval-policies.js';
import { ApprovalPoliciesService } from './approvals/approval-policies.service.js';
import { ApprovalRequests } from './approvals/approval-requests.js';
import { ApprovalWording } from './approvals/approval-wording.js';
import { ApprovalsController } from './approvals/approvals.controller.js';
import { ApprovalsService } from './approvals/approvals.service.js';
import { ApprovalsStore } from './approvals/approvals.store.js';
import { ApprovalPageController } from './approvals/page/approval-page.controller.js';
import { Deciding } from './approvals/page/deciding.js';
import { AttachmentsService } from './attachments/attachments.service.js';
import { AttachmentsStore } from './attachments/attachments.store.js';
import { WorkspaceBudgetsController } from './budgets/workspace-budgets.controller.js';
import { WorkspaceBudgetsService } from './budgets/workspace-budgets.service.js';
import { ChatAccess } from './chats/chat-access.js';
import { ChatsController } from './chats/chats.controller.js';
import { ChatsService } from './chats/chats.service.js';
import { ChatsStore } from './chats/chats.store.js';
import { MessagesStore } from './chats/messages.store.js';
import { ChatSummariesStore } from './context/chat-summaries.store.js';
import { Compactor } from './context/compactor.js';
import { ModelCatalog } from './models/model-catalog.js';
import { ModelMetrics } from './models/model-metrics.js';
import { ModelSettingsStore } from './models/model-settings.store.js';
import { ModelSlots } from './models/model-slots.js';
import { ModelsController } from './models/models.controller.js';
import { ModelsService } from './models/models.service.js';
import { AgentLint } from './subagents/agent-lint.js';
import { AgentToolsService } from './subagents/agent-tools.service.js';
import { AgentsFolder } from './subagents/agents-folder.js';
import { SubagentsController } from './subagents/subagents.controller.js';
import { SubagentsService } from './subagents/subagents.service.js';
import { TaskIntake } from './tasks/task-intake.js';
import { TaskRoom } from './tasks/task-room.js';
import { TaskStarter } from './tasks/task-starter.js';
import { TasksStore } from './tasks/tasks.store.js';

/** Agents: models, chats, subagents, and the runs in which they work. */
@Module({
  imports: [
    BillingModule,
    CredentialsModule,
    OrganizationsModule,
    PageSessionsModule,
    ChangesModule,
    CoreModule,
    DuplicateModule,
    FilesModule,
    HistoryModule,
    MeteringModule,
    SandboxesModule,
    ToolsModule,
  ],
  controllers: [
    AgentController,
    QueueController,
    ApprovalsController,
    ApprovalPageController,
    RunControlController,
    ChatsController,
    ModelsController,
    WorkspaceBudgetsController,
    SubagentsController,
  ],
  providers: [
    AgentActions,
    AgentService,
    RunsService,
    RunEventPages,
    RunEvents,
    RunsStore,
    RunControlService,
    RunRecordsService,
    RunRecordsStore,
    RunRollbackService,
    RunStopper,
    WorkspaceRuns,
    QueueStore,
    QueueService,
    Deliveries,
    SteersStore,
    ChatEventsService,
    ChatEventsStore,
    RunAuthority,
    RunLoop,
    RunMetrics,
    ResponseSchemas,
    RunQueue,
    RunIntake,
    RunWorker,
    StepCaller,
    Compactor,
    AttachmentsService,
    AttachmentsStore,
    ChatSummariesStore,
    ToolGateway,
    ChatsService,
    ChatsStore,
    ChatAccess,
    MessagesStore,
    ModelCatalog,
    ModelMetrics,
    ModelSettingsStore,
    ModelSlots,
    ModelsService,
    WorkspaceBudgetsService,
    SubagentsService,
    ApprovalsStore,
    ApprovalsService,
    ApprovalAccess,
    ApprovalWording,
    Deciding,
    ApprovalPolicies,
    ApprovalPoliciesService,
    RunApprovals,
    ApprovalRequests,
    AgentsFolder,
    AgentLint,
    AgentToolsService,
    TasksStore,
    TaskStarter,
    TaskIntake,
    TaskRoom,
  ],
  exports: [SubagentsService, RunsService, ApprovalRequests, ApprovalWording],
})
export class AgentModule implements BeforeApplicationShutdown {
  constructor(private readonly streams: EventStreams) {}

  beforeApplicationShutdown(): void {
    this.streams.endAll();
  }
}
