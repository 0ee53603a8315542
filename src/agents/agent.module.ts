import { Module } from '@nestjs/common';
import { ApprovalsModule } from './approvals/index.js';
import { AttachmentsModule } from './attachments/index.js';
import { BudgetsModule } from './budgets/index.js';
import { ChatsModule } from './chats/index.js';
import { InstructionsModule } from './instructions/index.js';
import { LoopsModule } from './loops/index.js';
import { MessagesModule } from './messages/index.js';
import { ModelsModule } from './models/index.js';
import { PlansModule } from './plans/index.js';
import { QuestionsModule } from './questions/index.js';
import { RunsModule } from './runs/index.js';
import { SubagentsModule } from './subagents/index.js';
import { ToolsModule } from './tools/index.js';

/** Agents: models, chats, subagents, and the runs in which they work. */
@Module({
  imports: [
    ModelsModule,
    InstructionsModule,
    SubagentsModule,
    AttachmentsModule,
    PlansModule,
    ChatsModule,
    ApprovalsModule,
    QuestionsModule,
    RunsModule,
    ToolsModule,
    MessagesModule,
    BudgetsModule,
    LoopsModule,
  ],
})
export class AgentModule {}
