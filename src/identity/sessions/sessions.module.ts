import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { SessionsController } from './sessions.controller.js';
import { AccessTokenKeys, SessionsService } from './sessions.service.js';

/** Sign-ins: access tokens, rotating refresh tokens, and the list of a person's sessions. */
@Module({
  imports: [JwtModule.register({})],
  controllers: [SessionsController],
  providers: [SessionsService, AccessTokenKeys],
  exports: [SessionsService, AccessTokenKeys],
})
export class SessionsModule {}
