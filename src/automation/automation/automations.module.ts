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
import { AskedRuns, RunViews } from './asking/index.js';
import { AutomationEventsController } from './automation-events.controller.js';
import { AutomationEventsService } from './automation-events.service.js';
import { AutomationRunsService } from './automation-runs.service.js';
import { AutomationsService } from './automations.service.js';
import { ConnectionPauses, ConnectionUseStore } from './connections/index.js';
import { DeliveriesService } from './deliveries.service.js';
import {
  Closures,
  ConnectionNamesStore,
  Deployer,
  DriftWatch,
  StandIns,
  TriggerSetups,
} from './deploying/index.js';
import { DeploymentsService } from './deployments.service.js';
import {
  AutomationEventsStore,
  AutomationRunsStore,
  DeliveriesStore,
  DeploymentsStore,
} from './records/index.js';
import {
  AgentWork,
  AutomationStarter,
  ChainGuard,
  DayLimits,
  Expectations,
  InputFiles,
  Intake,
  RunEnds,
  RunMeansReader,
  ScriptWork,
  SilenceWatch,
  WrittenFiles,
} from './running/index.js';
import { ReadInputTool } from './tools/read-input.js';
import { DeploymentViews } from './views/index.js';

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
    Intake,
    RunEnds,
    RunMeansReader,
    InputFiles,
    Expectations,
    WrittenFiles,
    ConnectionPauses,
    ConnectionUseStore,
    AgentWork,
    ScriptWork,
    AutomationStarter,
    ReadInputTool,
  ],
  exports: [
    DeploymentsStore,
    AutomationRunsStore,
    DeliveriesStore,
    TriggerSetups,
    ChainGuard,
    Intake,
    RunEnds,
  ],
})
export class AutomationsModule {}
