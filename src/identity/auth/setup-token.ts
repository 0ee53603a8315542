import { Injectable } from '@nestjs/common';
import { hashSecret } from '../../platform/access/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { Vault } from '../../platform/vault/index.js';
import { Installation, User } from '../accounts/index.js';

/** Proof of being the operator, for the registration that comes to own the installation. */
@Injectable()
export class SetupToken {
  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
  ) {}

  /**
   * The token for the operator to read in the log, while the installation has no owner. Every process that starts has the
   * same one, derived from the oldest root key: whichever log is read, it works.
   */
  renew(): Promise<string | undefined> {
    return this.database.transaction(async unit => {
      if (await unit.entities.findOne(User, { installationOwner: true })) return undefined;
      const installation = await unit.entities.findOneOrFail(Installation, 1);
      const token = this.vault.roots.oldest.derive('setup token').export().toString('base64url');
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
