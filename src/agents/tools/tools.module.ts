import { Module } from '@nestjs/common';
import { AgentActions } from './agent-actions.js';

/** The tools that agents have. */
@Module({
  providers: [AgentActions],
  exports: [AgentActions],
})
export class AgentToolsModule {}
