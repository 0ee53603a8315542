import { Module } from '@nestjs/common';
import { AuthModule } from '../../identity/auth/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { Config } from '../../platform/config/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ExposureModule } from '../../publishing/exposure/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ServerAccessService, SiteAccessService } from './access/access.service.js';
import { AccessChanges } from './access/access-changes.js';
import { AccessControl } from './access/access-control.js';
import { AccessPolicies } from './access/access-policies.js';
import { AccessPolicyStore } from './access/access-policy.store.js';
import { AccessTokens } from './access/access-tokens.js';
import { AccessTokensStore } from './access/access-tokens.store.js';
import { AccessViews } from './access/access-views.js';
import { EnterController } from './access/enter.controller.js';
import { ExposedHosts } from './access/exposed-hosts.js';
import { ExposureLimitService } from './access/exposure-limit.service.js';
import { ServerTokensService, SiteTokensService } from './access/tokens.service.js';
import { ViewerKeys } from './access/viewer-keys.js';
import { ViewerKeysStore } from './access/viewer-keys.store.js';
import { ViewerTokens } from './access/viewer-tokens.js';
import { Visits } from './access/visits.js';
import { VisitsStore } from './access/visits.store.js';
import { DomainChecks } from './domains/domain-checks.js';
import { ServerDomainsService, SiteDomainsService } from './domains/domains.service.js';
import { DomainsStore } from './domains/domains.store.js';
import { HostProofs } from './domains/host-proofs.js';
import { TlsQuestionController } from './domains/tls-question.controller.js';
import { Gateway } from './gateway.js';
import { GatewayProcess } from './gateway-process.js';
import { GatewayRecord } from './gateway-record.js';
import { HostedContents } from './hosted-contents.js';
import { HostedRequests } from './hosted-requests.js';
import { HostedUpgrades } from './hosted-upgrades.js';
import { HostNames } from './hosts/host-names.js';
import { HostNamesStore } from './hosts/host-names.store.js';
import { HostTable } from './hosts/host-table.js';
import { HostedRegistry } from './hosts/hosted-registry.js';
import { HostedTargets } from './hosts/hosted-targets.js';
import { HostingDomain } from './hosts/hosting-domain.js';
import { Offload } from './offload.js';
import { OwnCredentials } from './own-credentials.js';
import { RequestLimits } from './request-limits.js';
import { ReservedPaths } from './reserved-paths.js';
import { SiteActions } from './site-actions.js';

@Module({
  imports: [AuthModule, CoreModule, ExposureModule, OrganizationsModule, PageSessionsModule],
  controllers: [
    RoutesOf(SiteAccessService),
    RoutesOf(ServerAccessService),
    RoutesOf(SiteTokensService),
    RoutesOf(ServerTokensService),
    RoutesOf(SiteDomainsService),
    RoutesOf(ServerDomainsService),
    RoutesOf(ExposureLimitService),
    EnterController,
    TlsQuestionController,
  ],
  providers: [
    HostingDomain,
    HostNames,
    HostNamesStore,
    HostTable,
    HostedTargets,
    HostedRegistry,
    SiteAccessService,
    ServerAccessService,
    SiteTokensService,
    ServerTokensService,
    ExposureLimitService,
    AccessChanges,
    AccessControl,
    AccessPolicies,
    AccessPolicyStore,
    AccessTokens,
    AccessTokensStore,
    AccessViews,
    ExposedHosts,
    ViewerKeys,
    ViewerKeysStore,
    ViewerTokens,
    Visits,
    VisitsStore,
    SiteDomainsService,
    ServerDomainsService,
    DomainChecks,
    DomainsStore,
    HostProofs,
    Gateway,
    GatewayProcess,
    GatewayRecord,
    HostedContents,
    HostedRequests,
    HostedUpgrades,
    OwnCredentials,
    Offload,
    {
      provide: RequestLimits,
      inject: [Config],
      useFactory: ({ minuteLimits }: Config) => new RequestLimits(minuteLimits.hosted),
    },
    ReservedPaths,
    SiteActions,
  ],
  exports: [
    AccessControl,
    Gateway,
    GatewayProcess,
    HostedContents,
    HostedRegistry,
    HostedTargets,
    HostedUpgrades,
    HostingDomain,
    HostNames,
    Offload,
    ViewerKeys,
    ViewerTokens,
  ],
})
export class GatewayModule {}
