import { Module } from '@nestjs/common';
import { AuthModule } from '../../identity/auth/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ArchivesModule } from '../../workspaces/archives/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ExposureModule } from '../exposure/index.js';
import { LinkViews } from './links/link-views.js';
import { ShareLinksService } from './links/share-links.service.js';
import { ShareLinksStore } from './links/share-links.store.js';
import { Browsing } from './visits/browsing.js';
import { Dropping } from './visits/dropping.js';
import { Renderings } from './visits/renderings.js';
import { VisitCounts } from './visits/visit-counts.js';
import { VisitorsController } from './visits/visitors.controller.js';
import { VisitsService } from './visits/visits.service.js';

/** Links that open a file or folder to their holders. */
@Module({
  imports: [AuthModule, CoreModule, ArchivesModule, ExposureModule],
  controllers: [RoutesOf(ShareLinksService), VisitorsController],
  providers: [
    LinkViews,
    ShareLinksService,
    ShareLinksStore,
    Browsing,
    Dropping,
    Renderings,
    VisitCounts,
    VisitsService,
  ],
})
export class ShareModule {}
