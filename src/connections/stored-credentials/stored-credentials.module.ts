import { Module } from '@nestjs/common';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { FlowPagesController } from './flow-pages.controller.js';
import { FlowsStore } from './flows.store.js';
import { OAuthFlows } from './oauth-flows.js';
import { TokenRenewal } from './token-renewal.js';
import { TokenUpkeep } from './token-upkeep.js';
import { Tokens } from './tokens.js';
import { TokensStore } from './tokens.store.js';

/** Credentials for services of others: given by people, kept in the vault, renewed, removed. */
@Module({
  imports: [PageSessionsModule],
  controllers: [FlowPagesController],
  providers: [OAuthFlows, FlowsStore, Tokens, TokensStore, TokenRenewal, TokenUpkeep],
  exports: [OAuthFlows, Tokens],
})
export class StoredCredentialsModule {}
