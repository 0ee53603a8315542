import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { SessionsModule } from '../../identity/sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../changes/index.js';
import { ExposureService, Exposures } from './exposure.service.js';
import { OutsideWrites } from './outside-writes.js';
import { ShareOrigin } from './share-origin.js';
import { VisitorPass } from './visitor-pass.js';

/** Who outside may reach a URL: its mode, password, link, visits and their counts. */
@Module({
  imports: [OrganizationsModule, SessionsModule, ChangesModule],
  controllers: [RoutesOf(ExposureService)],
  providers: [ExposureService, Exposures, OutsideWrites, ShareOrigin, VisitorPass],
  exports: [Exposures, OutsideWrites, ShareOrigin, VisitorPass],
})
export class ExposureModule {}
