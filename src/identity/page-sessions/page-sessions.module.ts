import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { SessionsModule } from '../sessions/index.js';
import { Fronts } from './front.js';
import { PageVisits } from './page-visits.js';
import { SignIns } from './sign-ins.store.js';

/** Signing in at the service's own HTML pages. */
@Module({
  imports: [AuthModule, SessionsModule],
  providers: [Fronts, PageVisits, SignIns],
  exports: [Fronts, SignIns],
})
export class PageSessionsModule {}
