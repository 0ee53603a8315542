import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { AccessClaims, Credentials } from '../../platform/access/index.js';
import { AccessTokenKeys, ISSUER } from './access-tokens.js';

/** Verifies `Authorization: Bearer <access token>` (RFC 6750): signed by us with HS256, unexpired, its session still open. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(
    keys: AccessTokenKeys,
    private readonly credentials: Credentials,
  ) {
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: (
        _request: unknown,
        token: string,
        done: (error: unknown, key?: string) => void,
      ) => {
        const key = keys.verifying(keyIdOf(token)) as string | undefined;
        if (key) done(null, key);
        else done(new Error('The key of this token is not known'));
      },
      algorithms: ['HS256'],
      issuer: ISSUER,
    });
  }

  async validate(claims: AccessClaims): Promise<object | false> {
    return (await this.credentials.ofAccessToken(claims)) ?? false;
  }
}

/** What the header of a token says of its key; nothing that it says is verified yet. */
function keyIdOf(token: string): string {
  try {
    const { kid = '' } = JSON.parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString());
    return String(kid);
  } catch {
    return '';
  }
}
