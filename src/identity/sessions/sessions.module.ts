import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { SessionsController } from './sessions.controller.js';
import { AccessTokenKeys, SessionsService } from './sessions.service.js';
import { SessionsStore } from './sessions.store.js';

/** Sign-ins: access tokens, rotating refresh tokens, and the list of a person's sessions. */
@Module({
  imports: [JwtModule.register({})],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsStore, AccessTokenKeys],
  exports: [SessionsService, AccessTokenKeys],
})
export class SessionsModule {}
