import { Module } from '@nestjs/common';
import { ModelsModule } from '../models/index.js';
import { RunsModule } from '../runs/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { ToolsModule } from '../tools/index.js';
import { TaskRunner } from './run-tasks.js';
import { TaskIntake, TaskQuota, TaskStarter, TaskTools } from './task-starter.js';

/** Tasks that runs hand over to subagents. */
@Module({
  imports: [ModelsModule, SubagentsModule, ToolsModule, RunsModule],
  providers: [TaskIntake, TaskQuota, TaskRunner, TaskStarter, TaskTools],
  exports: [TaskIntake, TaskRunner],
})
export class TasksModule {}
