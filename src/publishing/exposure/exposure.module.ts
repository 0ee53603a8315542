import { Module } from '@nestjs/common';
import { AccountsModule } from '../../identity/accounts/index.js';
import { AuthModule } from '../../identity/auth/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { SessionsModule } from '../../identity/sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { ExposureService, Exposures } from './exposure.service.js';
import { LinkAccess } from './link-access.js';
import { LinkPages } from './link-pages.js';
import { OutsideWrites } from './outside-writes.js';
import { ShareOrigin } from './share-origin.js';

/** Who outside may reach a URL: its mode, password, link, visits and their counts. */
@Module({
  imports: [AccountsModule, AuthModule, OrganizationsModule, SessionsModule, ChangesModule],
  controllers: [RoutesOf(ExposureService)],
  providers: [ExposureService, Exposures, OutsideWrites, ShareOrigin, LinkAccess, LinkPages],
  exports: [Exposures, OutsideWrites, ShareOrigin, LinkAccess, LinkPages],
})
export class ExposureModule {}
