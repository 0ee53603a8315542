import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { AccessClaims, Credentials } from '../../platform/access/index.js';
import { ISSUER, TokenKey } from '../sessions/index.js';

/** `Authorization: Bearer <access token>` (RFC 6750): signed by us with HS256, unexpired, its session still open. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(
    key: TokenKey,
    private readonly credentials: Credentials,
  ) {
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: (
        _request: unknown,
        _token: unknown,
        done: (error: unknown, key: string) => void,
      ) => (done as (error: unknown, key: unknown) => void)(null, key.ready),
      algorithms: ['HS256'],
      issuer: ISSUER,
    });
  }

  async validate(claims: AccessClaims): Promise<object | false> {
    return (await this.credentials.ofAccessToken(claims)) ?? false;
  }
}
