import { Module } from '@nestjs/common';
import { MessagesModule } from '../../agents/messages/index.js';
import { ModelsModule } from '../../agents/models/index.js';
import { RunsModule } from '../../agents/runs/index.js';
import { SubagentsModule } from '../../agents/subagents/index.js';
import { ToolsModule } from '../../agents/tools/index.js';
import { IntegrationsModule } from '../../connections/integrations/index.js';
import { BillingModule } from '../../identity/billing/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { ServiceAccountsModule } from '../../identity/service-accounts/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { SecretsModule } from '../secrets/index.js';
import { AskedRuns } from './asking/asked-runs.js';
import { RunTargetReader } from './asking/run-target-reader.js';
import { RunViews } from './asking/run-views.js';
import { AutomationEventsController } from './automation-events.controller.js';
import { AutomationEventsService } from './automation-events.service.js';
import { AutomationRunsService } from './automation-runs.service.js';
import { AutomationsService } from './automations.service.js';
import { ConnectionPauses } from './connections/connection-pauses.js';
import { ConnectionUseStore } from './connections/connection-use.store.js';
import { DeliveriesService } from './deliveries.service.js';
import { Closures } from './deploying/closures.js';
import { ConnectionNamesStore } from './deploying/connection-names.store.js';
import { Deployer } from './deploying/deployer.js';
import { DriftWatch } from './deploying/drift-watch.js';
import { StandIns } from './deploying/stand-ins.js';
import { TriggerSetups } from './deploying/trigger-kinds.js';
import { DeploymentsService } from './deployments.service.js';
import { ReadInputTool } from './read-input.tool.js';
import { AutomationEventsStore } from './records/automation-events.store.js';
import { AutomationRunsStore } from './records/automation-runs.store.js';
import { DeliveriesStore } from './records/deliveries.store.js';
import { DeploymentsStore } from './records/deployments.store.js';
import { AgentExecution } from './running/agent-execution.js';
import { AgentRunSupervisor } from './running/agent-run-supervisor.js';
import { AutomationRunWorker } from './running/automation-run-worker.js';
import { ChainGuard } from './running/chain-guard.js';
import { DayLimits } from './running/day-limits.js';
import { ExpectationValidator } from './running/expectation-validator.js';
import { InputFiles } from './running/input-files.js';
import { RunAcceptance } from './running/run-acceptance.js';
import { RunContextReader } from './running/run-context-reader.js';
import { RunEnds } from './running/run-ends.js';
import { RunExecution } from './running/run-execution.js';
import { ScriptExecution } from './running/script-execution.js';
import { ScriptRunner } from './running/script-runner.js';
import { SilenceWatch } from './running/silence-watch.js';
import { DeploymentViews } from './views/deployment-views.js';

/** Automations: files that are deployed, and run without a person. */
@Module({
  imports: [
    BillingModule,
    OrganizationsModule,
    ServiceAccountsModule,
    CoreModule,
    ChangesModule,
    IntegrationsModule,
    SandboxesModule,
    ModelsModule,
    SubagentsModule,
    ToolsModule,
    RunsModule,
    MessagesModule,
    SecretsModule,
  ],
  controllers: [
    ...[AutomationsService, DeploymentsService, AutomationRunsService, DeliveriesService].map(service =>
      RoutesOf(service),
    ),
    AutomationEventsController,
  ],
  providers: [
    AutomationsService,
    DeploymentsService,
    AutomationRunsService,
    DeliveriesService,
    AutomationEventsService,
    AskedRuns,
    RunTargetReader,
    RunViews,
    DeploymentsStore,
    AutomationRunsStore,
    DeliveriesStore,
    AutomationEventsStore,
    Closures,
    ConnectionNamesStore,
    Deployer,
    StandIns,
    DriftWatch,
    SilenceWatch,
    DeploymentViews,
    TriggerSetups,
    ChainGuard,
    DayLimits,
    RunAcceptance,
    RunEnds,
    RunContextReader,
    InputFiles,
    ExpectationValidator,
    ConnectionPauses,
    ConnectionUseStore,
    AgentExecution,
    AgentRunSupervisor,
    ScriptExecution,
    ScriptRunner,
    RunExecution,
    AutomationRunWorker,
    ReadInputTool,
  ],
  exports: [
    DeploymentsStore,
    AutomationRunsStore,
    DeliveriesStore,
    TriggerSetups,
    ChainGuard,
    RunAcceptance,
    RunEnds,
  ],
})
export class AutomationsModule {}
