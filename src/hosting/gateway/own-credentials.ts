import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { isWellFormedKey } from '../../identity/keys/index.js';
import { ISSUER } from '../../identity/sessions/index.js';
import { Config } from '../../platform/config/index.js';
import { type HostedTarget } from './hosts/hosted-targets.js';

const CARRIERS = new Set(['x-api-key', 'authorization']);
const EXEC_TOKEN = /^atx_[\w-]{43}$/;
const BASIC = /^basic +([\w+/=-]{1,2000})$/i;

@Injectable()
export class OwnCredentials {
  constructor(private readonly config: Config) {}

  /** Whether a request carries a credential of the service. Hosted programs must not see one. */
  areIn({ headers, rawHeaders }: IncomingMessage): boolean {
    if (headers['x-api-key'] === undefined && headers.authorization === undefined) return false;
    return rawHeaders.some(
      (name, at) =>
        at % 2 === 0 &&
        CARRIERS.has(name.toLowerCase()) &&
        splitCredentials(rawHeaders[at + 1] ?? '').some(word => this.isOurs(word)),
    );
  }

  private isOurs(word: string): boolean {
    if (isWellFormedKey(word) || EXEC_TOKEN.test(word)) return true;
    const [header, claims] = decodeJwt(word);
    // Others may have chosen the same name for theirs.
    if (claims?.iss === ISSUER && header?.alg === 'HS256' && isUuid(claims.sid)) return true;
    // Programs may be told who looks by another kind of JWT.
    return header?.typ === 'at+jwt' && claims?.iss === this.config.baseUrl;
  }
}

/** Words of a header that may be credentials; for Basic, also name and password. */
function splitCredentials(value: string): string[] {
  const [, encoded] = BASIC.exec(value) ?? [];
  const pair = encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString('latin1').split(':');
  return [...value.split(/[\s,]+/), ...pair];
}

type Claims = Record<string, unknown> | undefined;

/** Header and claims of a JWT, not verified. */
function decodeJwt(word: string): [Claims, Claims] {
  const parts = word.split('.', 4);
  if (parts.length !== 3) return [undefined, undefined];
  try {
    return [readPart(parts[0]), readPart(parts[1])];
  } catch {
    return [undefined, undefined];
  }
}

const readPart = (part = ''): Claims => JSON.parse(Buffer.from(part, 'base64url').toString()) ?? undefined;

export const refusalOfKey = ({ kind, id }: HostedTarget): string =>
  `API keys and access tokens of the service are not taken here; make a token with POST /api/${kind}-access/${id}/tokens`;
