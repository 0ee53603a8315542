import { Module } from '@nestjs/common';
import { ModelsModule } from '../models/index.js';
import { RunsModule } from '../runs/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { ToolsModule } from '../tools/index.js';
import { TaskRoom } from './task-room.js';
import { TaskIntake, TaskStarter } from './task-starter.js';
import { TaskTools } from './task-tool.js';

/** Tasks that runs hand over to subagents. */
@Module({
  imports: [ModelsModule, SubagentsModule, ToolsModule, RunsModule],
  providers: [TaskIntake, TaskRoom, TaskStarter, TaskTools],
  exports: [TaskIntake, TaskStarter],
})
export class TasksModule {}
