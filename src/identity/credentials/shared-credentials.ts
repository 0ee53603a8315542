import { Injectable } from '@nestjs/common';
import {
  type AccessClaims,
  type Actor,
  type Credential,
  Credentials,
  SharedLookups,
} from '../../platform/access/index.js';
import { CredentialsService } from './credentials.service.js';

/** One question for all requests that come with the same credential at once, as an agent's do. */
@Injectable()
export class SharedCredentials extends Credentials {
  private readonly lookups = new SharedLookups<Actor | undefined>();

  constructor(private readonly credentials: CredentialsService) {
    super();
  }

  ofApiKey(secret: string): Promise<Actor | undefined> {
    return this.lookups.get(`key ${secret}`, () => this.credentials.ofApiKey(secret));
  }

  ofAccessToken(claims: AccessClaims): Promise<Actor | undefined> {
    const { sub, sid, exp } = claims;
    return this.lookups.get(`session ${sub} ${sid} ${exp}`, () => this.credentials.ofAccessToken(claims));
  }

  stands(credential: Credential, options?: { evenExpired?: boolean }): Promise<boolean> {
    return this.credentials.stands(credential, options);
  }
}
