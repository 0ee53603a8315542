import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { SessionsModule } from '../sessions/index.js';
import { PageSessions } from './page-sessions.js';
import { PageVisits } from './page-visits.js';
import { SignInsStore } from './sign-ins.store.js';

/** Signing in at the service's own HTML pages. */
@Module({
  imports: [AuthModule, SessionsModule],
  providers: [PageSessions, PageVisits, SignInsStore],
  exports: [PageSessions, SignInsStore],
})
export class PageSessionsModule {}
