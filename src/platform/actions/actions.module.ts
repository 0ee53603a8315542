import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ActionCatalog } from './action-catalog.js';
import { ActionLedger } from './action-ledger.js';
import { ActionListing } from './action-listing.js';
import { ActionRunner } from './action-runner.js';
import { CallerRoles } from './caller-roles.js';
import { ExecTokenGuard, ExecTokens } from './exec-tokens.js';
import { Subjects } from './subject.js';

/** The catalog of what the service can do, and the ways to use it that are no routes. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    ActionCatalog,
    ActionLedger,
    ActionListing,
    ActionRunner,
    CallerRoles,
    ExecTokenGuard,
    ExecTokens,
    Subjects,
  ],
  exports: [
    ActionCatalog,
    ActionLedger,
    ActionListing,
    ActionRunner,
    CallerRoles,
    ExecTokenGuard,
    ExecTokens,
  ],
})
export class ActionsModule {}
