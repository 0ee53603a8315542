import { Inject, Injectable } from '@nestjs/common';
import { Database, UnitOfWork } from '../../platform/database/database.js';
import { Forbidden } from '../../platform/http/problem.js';
import { Installation } from '../accounts/installation.entity.js';
import { User } from '../accounts/user.entity.js';
import { hashSecret, randomSecret } from '../secrets.js';

/** Proof of being the operator, for the registration that comes to own the installation. */
@Injectable()
export class SetupToken {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Makes a fresh token while the installation has no owner, for the operator to read in the log. */
  renew(): Promise<string | undefined> {
    return this.database.transaction(async unit => {
      if (await unit.entities.findOne(User, { installationOwner: true })) return undefined;
      const token = randomSecret();
      const installation = await unit.entities.findOneOrFail(Installation, 1);
      installation.setupTokenHash = hashSecret(token);
      return token;
    });
  }

  /** Uses the token up; 403 for any other text. */
  async redeem(unit: UnitOfWork, token: string | undefined): Promise<void> {
    const installation = await unit.entities.findOneOrFail(Installation, 1);
    if (!token || installation.setupTokenHash !== hashSecret(token))
      throw new Forbidden('The first account needs the setup_token that the service logged when it started');
    installation.setupTokenHash = null;
  }
}
