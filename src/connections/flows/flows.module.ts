import { Module } from '@nestjs/common';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { FlowPagesController } from './flow-pages.controller.js';
import { OAuthFlows } from './flows.js';
import { FlowsStore } from './flows.store.js';

/** People on their way to a provider and back. */
@Module({
  imports: [PageSessionsModule],
  controllers: [FlowPagesController],
  providers: [OAuthFlows, FlowsStore],
  exports: [OAuthFlows],
})
export class FlowsModule {}
