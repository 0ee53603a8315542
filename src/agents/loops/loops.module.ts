import { Module } from '@nestjs/common';
import { BillingModule } from '../../identity/billing/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { HistoryModule } from '../../workspaces/history/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { ChatsModule } from '../chats/index.js';
import { MessagesModule } from '../messages/index.js';
import { ModelsModule } from '../models/index.js';
import { RunsModule } from '../runs/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { ToolsModule } from '../tools/index.js';
import { GoalReader } from './goal/index.js';
import { CheckScript, Grader, Grading, GradingClaims } from './grading/index.js';
import { LoopAuthority } from './loop-authority.js';
import { LoopRunner } from './loop-runner.js';
import { LoopStarter } from './loop-starter.js';
import { LoopsController } from './loops.controller.js';
import { LoopsService } from './loops.service.js';
import { GraderCalls, LoopsStore, LoopWriter } from './records/index.js';
import { Iterations, LoopBlockedTool, LoopEnds } from './running/index.js';

/** Loops: a run in one chat, repeated until a pinned check and an independent grader agree. */
@Module({
  imports: [
    BillingModule,
    CoreModule,
    HistoryModule,
    SandboxesModule,
    ModelsModule,
    SubagentsModule,
    ChatsModule,
    RunsModule,
    ToolsModule,
    MessagesModule,
  ],
  controllers: [RoutesOf(LoopsService), LoopsController],
  providers: [
    LoopsService,
    LoopStarter,
    LoopAuthority,
    GoalReader,
    LoopsStore,
    LoopWriter,
    GraderCalls,
    Iterations,
    LoopEnds,
    LoopBlockedTool,
    CheckScript,
    Grader,
    Grading,
    GradingClaims,
    LoopRunner,
  ],
})
export class LoopsModule {}
