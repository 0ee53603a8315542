import { Module } from '@nestjs/common';
import { MessagesModule } from '../../agents/messages/index.js';
import { ModelsModule } from '../../agents/models/index.js';
import { RunsModule } from '../../agents/runs/index.js';
import { SubagentsModule } from '../../agents/subagents/index.js';
import { ToolsModule } from '../../agents/tools/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { AutomationRunsService } from './automation-runs.service.js';
import { AutomationsService } from './automations.service.js';
import { DeliveriesService } from './deliveries.service.js';
import { Closures, Deployer, TriggerSetups } from './deploying/index.js';
import { DeploymentsService } from './deployments.service.js';
import { AutomationRunsStore, DeliveriesStore, DeploymentsStore } from './records/index.js';
import {
  AgentWork,
  AutomationStarter,
  ChainGuard,
  Expectations,
  Intake,
  RunEnds,
  RunMeansReader,
  ScriptWork,
  WrittenFiles,
} from './running/index.js';
import { ReadInputTool } from './tools/read-input.js';
import { DeploymentViews } from './views/index.js';

/** Automations: files that are deployed, and run without a person. */
@Module({
  imports: [
    CoreModule,
    SandboxesModule,
    ModelsModule,
    SubagentsModule,
    ToolsModule,
    RunsModule,
    MessagesModule,
  ],
  controllers: [AutomationsService, DeploymentsService, AutomationRunsService, DeliveriesService].map(
    service => RoutesOf(service),
  ),
  providers: [
    ...[AutomationsService, DeploymentsService, AutomationRunsService, DeliveriesService],
    ...[DeploymentsStore, AutomationRunsStore, DeliveriesStore],
    ...[Closures, Deployer, DeploymentViews, TriggerSetups],
    ...[ChainGuard, Intake, RunEnds, RunMeansReader, Expectations, WrittenFiles],
    ...[AgentWork, ScriptWork, AutomationStarter, ReadInputTool],
  ],
  exports: [DeploymentsStore, AutomationRunsStore, DeliveriesStore, TriggerSetups, Intake, RunEnds],
})
export class AutomationsModule {}
