import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden } from '../../platform/errors/index.js';
import { User } from '../accounts/index.js';
import type { Register } from './auth.dto.js';
import { Quotas } from './quotas.js';
import { SetupToken } from './setup-token.js';

const CLOSED = 'Registration is closed: this installation takes no new accounts; ask its operator';
const BY_INVITATION =
  'Registration is by invitation: open the link of an invitation to make your account, or ask an owner or admin of an organization here for one';

/** Who may make an account here. */
@Injectable()
export class RegistrationPolicy {
  constructor(
    private readonly config: Config,
    private readonly quotas: Quotas,
    private readonly setupToken: SetupToken,
  ) {}

  /** Whether anybody may. */
  get isOpen(): boolean {
    return this.config.registration === 'open';
  }

  /** 429 for an address that has tried too often. */
  countAttempt(address: string): Promise<void> {
    return this.quotas.spendOfAddress('register', address, this.config.hourLimits.registration);
  }

  /** Refuses who may not; the first account takes the setup token. */
  async admit(unit: UnitOfWork, input: Register, isFirst: boolean): Promise<void> {
    if (isFirst) await this.setupToken.redeem(unit, input.setup_token);
    else if (this.config.registration === 'closed') throw new Forbidden(CLOSED);
    else if (this.config.registration === 'invite') throw new Forbidden(BY_INVITATION);
    if (await unit.entities.findOne(User, { email: User.normalizeEmail(input.email) }))
      throw new Conflict('An account with this e-mail address exists; sign in instead');
  }
}
