import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { BuildsModule } from '../builds/index.js';
import { GatewayModule } from '../gateway/index.js';

import { BuildLogService } from './build-log.service.js';
import { SiteFolders } from './folders/site-folders.js';
import { BUILDS, BuildQueue } from './publishing/build-queue.js';
import { BuildRecorder } from './publishing/build-recorder.js';
import { BuildsProcessor } from './publishing/builds.processor.js';
import { Collection } from './publishing/collection.js';
import { SiteBuild } from './publishing/site-build.js';
import { SiteBuilds } from './publishing/site-builds.js';
import { SiteSources } from './publishing/site-source.js';
import { Snapshots } from './publishing/snapshot.js';
import { VersionForms } from './publishing/version-forms.js';
import { BuildLogStore } from './records/build-log.store.js';
import { SitesStore } from './records/sites.store.js';
import { VersionsStore } from './records/versions.store.js';
import { SiteContent } from './serving/site-content.js';
import { Versions } from './serving/versions.js';
import { SiteViews } from './site-views.js';
import { SitesController } from './sites.controller.js';
import { SitesService } from './sites.service.js';
import { OldVersionsStore } from './storage/old-versions.store.js';
import { Retention } from './storage/retention.js';
import { SiteStorage } from './storage/site-storage.js';
import { StoredBytesStore } from './storage/stored-bytes.store.js';
import { VersionsService } from './versions.service.js';

@Module({
  imports: [
    BullModule.registerQueue({ name: BUILDS }),
    CoreModule,
    ChangesModule,
    GatewayModule,
    BuildsModule,
  ],
  controllers: [
    RoutesOf(SitesService),
    RoutesOf(VersionsService),
    RoutesOf(BuildLogService),
    SitesController,
  ],
  providers: [
    SitesService,
    VersionsService,
    BuildLogService,
    SiteViews,
    SitesStore,
    VersionsStore,
    BuildLogStore,
    SiteFolders,
    SiteBuilds,
    BuildsProcessor,
    SiteBuild,
    BuildRecorder,
    SiteSources,
    Snapshots,
    Collection,
    VersionForms,
    BuildQueue,
    SiteContent,
    Versions,
    SiteStorage,
    StoredBytesStore,
    Retention,
    OldVersionsStore,
  ],
})
export class SitesModule {}
