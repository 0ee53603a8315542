import { Module } from '@nestjs/common';
import { IntegrationsModule } from '../../connections/integrations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { BuildsModule } from '../builds/index.js';
import { GatewayModule } from '../gateway/index.js';

import { ServerLogService } from './logs/server-log.service.js';
import { ServerLogStore } from './logs/server-log.store.js';
import { ServerLogs } from './logs/server-logs.js';
import { InstancesStore } from './records/instances.store.js';
import { ServersStore } from './records/servers.store.js';
import { InstanceTools } from './running/instance.js';
import { RunningServers } from './running/running-servers.js';
import { ServerAuthority } from './running/server-authority.js';
import { ServerConnections } from './running/server-connections.js';
import { ServerDependencies } from './running/server-dependencies.js';
import { ServerEnv } from './running/server-env.js';
import { ServerLinks } from './running/server-links.js';
import { ServerMeter } from './running/server-meter.js';
import { ServerPrograms } from './running/server-programs.js';
import { ServerSupervisor } from './running/server-supervisor.js';
import { ServerTickets } from './running/server-tickets.js';
import { ViewerKeyFile } from './running/viewer-key-file.js';
import { ServerMovesService } from './server-moves.service.js';
import { ServerRules } from './server-rules.js';
import { ServerViews } from './server-views.js';
import { ServersService } from './servers.service.js';
import { Forwarding } from './serving/forwarding.js';
import { ServerContent } from './serving/server-content.js';
import { ServerInstances } from './serving/server-instances.js';
import { ServerTraffic } from './serving/server-traffic.js';
import { TunnelsController } from './tunnels.controller.js';

@Module({
  imports: [CoreModule, IntegrationsModule, SandboxesModule, BuildsModule, GatewayModule],
  controllers: [
    RoutesOf(ServersService),
    RoutesOf(ServerMovesService),
    RoutesOf(ServerLogService),
    TunnelsController,
  ],
  providers: [
    ServersService,
    ServerMovesService,
    ServerRules,
    ServerViews,
    ServersStore,
    InstancesStore,
    ServerEnv,
    ServerLogService,
    ServerLogs,
    ServerLogStore,
    ServerConnections,
    ServerAuthority,
    ServerDependencies,
    InstanceTools,
    RunningServers,
    ServerSupervisor,
    ServerLinks,
    ServerMeter,
    ServerPrograms,
    ViewerKeyFile,
    ServerTickets,
    ServerContent,
    ServerInstances,
    ServerTraffic,
    Forwarding,
  ],
})
export class TunnelsModule {}
