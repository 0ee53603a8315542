import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/errors/index.js';
import { hashPassword, Installation, User } from '../accounts/index.js';
import { OrganizationsService } from '../organizations/index.js';
import { IssuedTokens, SessionsService, type SignInSource } from '../sessions/index.js';
import { type Login, type Register } from './auth.dto.js';
import { EmailVerificationService } from './email.service.js';
import { PasswordsService } from './passwords.service.js';
import { RegistrationPolicy } from './registration-policy.js';

const wrongCredentials = () => new Unauthorized('E-mail address or password is wrong');

/** Registration and sign-in. */
@Injectable()
export class AuthService {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly organizations: OrganizationsService,
    private readonly policy: RegistrationPolicy,
    private readonly passwords: PasswordsService,
    private readonly verification: EmailVerificationService,
  ) {}

  /** Makes an account, an organization of its own, and signs in. The first account owns the installation. */
  async register(input: Register, from: SignInSource): Promise<IssuedTokens> {
    await this.policy.countAttempt(from.address);
    if (this.policy.isOpen) await this.verification.allow(input.email);
    const passwordHash = await hashPassword(input.password);
    return this.database.transaction(async unit => {
      // One at a time: of two first registrations only one may own the installation.
      await unit.entities.findOneOrFail(Installation, 1, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const installationOwner = (await unit.entities.count(User)) === 0;
      await this.policy.admit(unit, input, installationOwner);
      const user = unit.add(new User({ ...input, name: input.name.trim(), passwordHash, installationOwner }));
      await unit.flush();
      await this.organizations.found(unit, `${user.name}'s organization`, user.id);
      await this.verification.begin(unit, user);
      return this.sessions.open(unit, user, from);
    });
  }

  /** Signs in; 401 for a wrong password and an unknown address alike, 429 after too many failures from one network. */
  async login({ email, password }: Login, from: SignInSource): Promise<IssuedTokens> {
    const checked = await this.passwords.check(email, password, from.address);
    if (!checked) throw wrongCredentials();
    return this.database.transaction(async unit => {
      const user = await this.passwords.findUnchanged(unit, checked, LockMode.PESSIMISTIC_READ);
      if (!user) throw wrongCredentials();
      return this.sessions.open(unit, user, from);
    });
  }
}
