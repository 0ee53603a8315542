import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { AccessTokenKeys } from './access-tokens.js';
import { JwtStrategy } from './jwt-strategy.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsService } from './sessions.service.js';
import { SessionsStore } from './sessions.store.js';

/** Sign-ins: access tokens, rotating refresh tokens, and the list of a person's sessions. */
@Module({
  imports: [JwtModule.register({}), PassportModule],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsStore, AccessTokenKeys, JwtStrategy],
  exports: [SessionsService],
})
export class SessionsModule {}
