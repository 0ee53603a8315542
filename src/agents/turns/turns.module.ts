import { Module } from '@nestjs/common';
import { BillingModule } from '../../identity/billing/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { EgressModule } from '../../workspaces/egress/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { ApprovalsModule } from '../approvals/index.js';
import { AttachmentsModule } from '../attachments/index.js';
import { ChatsModule } from '../chats/index.js';
import { InstructionsModule } from '../instructions/index.js';
import { ModelsModule } from '../models/index.js';
import { QuestionsModule } from '../questions/index.js';
import { RunsModule } from '../runs/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { TasksModule } from '../tasks/index.js';
import { ToolsModule } from '../tools/index.js';
import { AttemptEnds } from './attempt-ends.js';
import { StepCaller } from './model-calls.js';
import { ModelTurns } from './model-turns.js';
import { ReachableHosts } from './reachable-hosts.js';
import { RunAttempts } from './run-attempt.js';
import { RunLoop } from './run-loop.js';
import { SystemPrompts } from './system-prompt.js';
import { ToolGateway } from './tool-gateway.js';

/** What a worker does with a run: model calls and tool calls, in turns. */
@Module({
  imports: [
    BillingModule,
    ChangesModule,
    CoreModule,
    EgressModule,
    SandboxesModule,
    InstructionsModule,
    ModelsModule,
    SubagentsModule,
    AttachmentsModule,
    ChatsModule,
    ApprovalsModule,
    QuestionsModule,
    RunsModule,
    TasksModule,
    ToolsModule,
  ],
  providers: [
    AttemptEnds,
    ModelTurns,
    ReachableHosts,
    RunAttempts,
    RunLoop,
    StepCaller,
    SystemPrompts,
    ToolGateway,
  ],
  exports: [StepCaller],
})
export class TurnsModule {}
