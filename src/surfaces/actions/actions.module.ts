import { Module } from '@nestjs/common';
import { CredentialsModule } from '../../identity/credentials/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ActionRunsService } from './action-runs.service.js';
import { ActionRunsStore } from './action-runs.store.js';
import { ActionsController, ActionsExecController } from './actions.controller.js';
import { ActionsService } from './actions.service.js';

/** The catalog of actions, their running and their ledger, over HTTP. */
@Module({
  imports: [CredentialsModule, CoreModule],
  controllers: [
    RoutesOf(ActionsService),
    ActionsController,
    ActionsExecController,
    RoutesOf(ActionRunsService),
  ],
  providers: [ActionsService, ActionRunsService, ActionRunsStore],
})
export class ActionSurfaceModule {}
