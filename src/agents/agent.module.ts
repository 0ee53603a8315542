import { Module } from '@nestjs/common';
import { Approval, ApprovalsModule } from './approvals/index.js';
import { AttachmentsModule } from './attachments/index.js';
import { BudgetsModule } from './budgets/index.js';
import { Chat, ChatsModule, Message, ToolCall } from './chats/index.js';
import { ContextModule } from './context/index.js';
import { MessagesModule } from './messages/index.js';
import { ModelsModule } from './models/index.js';
import { Run, RunEvent, RunStep, RunsModule } from './runs/index.js';
import { SubagentsModule } from './subagents/index.js';
import { TasksModule } from './tasks/index.js';
import { ToolsModule } from './tools/index.js';
import { TurnsModule } from './turns/index.js';

export const agentEntities = [Chat, Message, Run, RunStep, ToolCall, RunEvent, Approval];

/** Agents: models, chats, subagents, and the runs in which they work. */
@Module({
  imports: [
    ModelsModule,
    SubagentsModule,
    AttachmentsModule,
    ChatsModule,
    ContextModule,
    ApprovalsModule,
    RunsModule,
    TasksModule,
    ToolsModule,
    TurnsModule,
    MessagesModule,
    BudgetsModule,
  ],
})
export class AgentModule {}
