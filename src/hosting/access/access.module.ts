import { Module } from '@nestjs/common';
import { AuthModule } from '../../identity/auth/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ExposureModule } from '../../publishing/exposure/index.js';
import { HostsModule } from '../hosts/index.js';
import { ServerAccessService, SiteAccessService } from './access.service.js';
import { AccessChanges } from './access-changes.js';
import { AccessControl } from './access-control.js';
import { AccessEnds } from './access-ends.js';
import { AccessViews } from './access-views.js';
import { EnterController } from './enter.controller.js';
import { ExposedServers, ExposedSites } from './exposed-hosts.js';
import { ExposureLimitService } from './exposure-limit.service.js';
import { AccessPolicies } from './policies/access-policies.js';
import { AccessPolicyStore } from './policies/access-policy.store.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { AccessTokensStore } from './tokens/access-tokens.store.js';
import { ServerTokensService, SiteTokensService } from './tokens.service.js';
import { ViewerKeys } from './viewer-keys.js';
import { ViewerKeysStore } from './viewer-keys.store.js';
import { ViewerTokens } from './viewer-tokens.js';
import { Visits } from './visits/visits.js';
import { VisitsStore } from './visits/visits.store.js';

@Module({
  imports: [HostsModule, AuthModule, ExposureModule, OrganizationsModule, PageSessionsModule],
  controllers: [
    RoutesOf(SiteAccessService),
    RoutesOf(SiteTokensService),
    RoutesOf(ServerAccessService),
    RoutesOf(ServerTokensService),
    RoutesOf(ExposureLimitService),
    EnterController,
  ],
  providers: [
    AccessEnds,
    SiteAccessService,
    SiteTokensService,
    ExposureLimitService,
    ServerAccessService,
    ServerTokensService,
    AccessChanges,
    AccessControl,
    AccessPolicies,
    AccessPolicyStore,
    AccessTokens,
    AccessTokensStore,
    AccessViews,
    ExposedSites,
    ExposedServers,
    ViewerKeys,
    ViewerKeysStore,
    ViewerTokens,
    Visits,
    VisitsStore,
  ],
  exports: [AccessControl, AccessPolicies, ViewerKeys, ViewerTokens, Visits],
})
export class AccessModule {}
