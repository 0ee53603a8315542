import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { SessionsModule } from '../sessions/index.js';
import { PageSessions } from './page-sessions.js';
import { PageVisits } from './page-visits.js';
import { SignIns } from './sign-ins.store.js';

/** Signing in at the service's own HTML pages. */
@Module({
  imports: [AuthModule, SessionsModule],
  providers: [PageSessions, PageVisits, SignIns],
  exports: [PageSessions, SignIns],
})
export class PageSessionsModule {}
