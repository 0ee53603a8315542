import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { EgressModule } from '../egress/index.js';
import { ActionSockets } from './actions/action-sockets.js';
import { NamedShells } from './named-shells.js';
import { RunningSandboxes, SandboxSlots } from './running-sandboxes.js';
import { RunningSandboxesStore } from './running-sandboxes.store.js';
import { SandboxControlService } from './sandbox-control.service.js';
import { SandboxEnvironments } from './sandbox-environments.js';
import { SandboxesService } from './sandboxes.service.js';

/** Sandboxes: where commands of a workspace run. */
@Module({
  imports: [CoreModule, EgressModule],
  controllers: [RoutesOf(SandboxControlService)],
  providers: [
    ActionSockets,
    NamedShells,
    RunningSandboxes,
    RunningSandboxesStore,
    SandboxControlService,
    SandboxEnvironments,
    SandboxSlots,
    SandboxesService,
  ],
  exports: [NamedShells, RunningSandboxes, SandboxesService],
})
export class SandboxesModule {}
