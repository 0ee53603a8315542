import { Global, Module, OnModuleInit } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Maintenance } from '../maintenance/index.js';
import { ActionCatalog } from './action-catalog.js';
import { ActionLedger } from './action-ledger.js';
import { ActionListing } from './action-listing.js';
import { ActionRunner } from './action-runner.js';
import { CallerRoles } from './caller-roles.js';
import { ExecTokenGuard } from './exec-token.guard.js';
import { ExecTokens } from './exec-tokens.js';
import { Subjects } from './subject.js';

const HOUR_MS = 3_600_000;

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
  exports: [ActionCatalog, ActionListing, ActionRunner, CallerRoles, ExecTokenGuard, ExecTokens],
})
export class ActionsModule implements OnModuleInit {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly ledger: ActionLedger,
    private readonly tokens: ExecTokens,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(HOUR_MS, 'action_runs', () => this.ledger.closeAbandoned());
    this.maintenance.every(HOUR_MS, 'exec_tokens', () => this.tokens.deleteOld());
  }
}
