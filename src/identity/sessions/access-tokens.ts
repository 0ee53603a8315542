import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { AccessClaims, Credentials } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { type RootKey, Vault } from '../../platform/vault/index.js';

/** `iss` of our access tokens. */
export const ISSUER = 'atelier';

/** The keys that sign access tokens: the operator's JWT_SECRET, else keys of the vault, which tokens name. */
@Injectable()
export class AccessTokenKeys {
  private readonly operators: KeyObject | undefined;

  constructor(
    { jwtSecret }: Config,
    private readonly vault: Vault,
  ) {
    this.operators = jwtSecret === undefined ? undefined : createSecretKey(Buffer.from(jwtSecret));
  }

  get signing(): { key: KeyObject; id: string } {
    if (this.operators) return { key: this.operators, id: '' };
    const { current } = this.vault.roots;
    return { key: keyOf(current), id: current.id };
  }

  /** The key of tokens that name `id`; undefined where they do not count any more. */
  verifying(id: string): KeyObject | undefined {
    if (this.operators) return id === '' ? this.operators : undefined;
    const root = this.vault.roots.verifying(id);
    return root && keyOf(root);
  }
}

const keyOf = (root: RootKey): KeyObject => root.derive('access token');

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
