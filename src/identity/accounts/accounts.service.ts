import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden, Invalid } from '../../platform/errors/index.js';
import { OrganizationsStore } from '../organizations/index.js';
import { PASSWORD, PERSON_NAME, PrincipalView, UpdateAccount, UserView } from './accounts.dto.js';
import { hashPassword, User } from './user.entity.js';

const HAS_ACCOUNT = 'This address has an account; sign in with it to accept';

/** A person without an account, as they introduce themselves. */
interface Newcomer {
  readonly name: string;
  readonly passwordHash: string;
}

/** Accounts for people who were invited by their address. */
@Injectable()
export class InvitedAccounts {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Whether an invitation may make an account: with REGISTRATION=closed none does. */
  private get areTaken(): boolean {
    return this.config.registration !== 'closed';
  }

  /** What becomes of an address that is invited: it signs in, makes an account, or can do neither. */
  async standingOf(email: string): Promise<'exists' | 'can_be_made' | 'none'> {
    if (await this.exists(email)) return 'exists';
    return this.areTaken ? 'can_be_made' : 'none';
  }

  private async exists(email: string): Promise<boolean> {
    return this.database.transaction(async unit => (await unit.entities.count(User, { email })) > 0);
  }

  /** Hashes the password, which takes a while: before the transaction that makes the account. */
  async prepare(
    name: string | undefined,
    password: string | undefined,
    email: string,
  ): Promise<Newcomer | undefined> {
    if (!name || !password || !this.areTaken || (await this.exists(User.normalizeEmail(email))))
      return undefined;
    return { name: name.trim(), passwordHash: await hashPassword(password) };
  }

  /** Makes the account; 403 where the address has one or none is made any more, 422 without name or password. */
  async make(unit: UnitOfWork, email: string, newcomer: Newcomer | undefined): Promise<User> {
    if (await unit.entities.findOne(User, { email })) throw new Forbidden(HAS_ACCOUNT);
    if (!this.areTaken)
      throw new Forbidden(
        'This installation takes no new accounts; ask its operator to allow them by invitation (REGISTRATION=invite)',
      );
    if (!newcomer)
      throw new Invalid('name and password are needed to make an account; or sign in with the one you have');
    const user = unit.add(new User({ email, ...newcomer, installationOwner: false }));
    try {
      await unit.flush();
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new Conflict(HAS_ACCOUNT);
    }
    return user;
  }
}

/** What is wrong with a name and a password from a form, in words for its person. */
export function problemOfNewcomer(name: string, password: string): string | undefined {
  if (name.trim() === '' || name.length > PERSON_NAME.max)
    return `Tell your name, in at most ${PERSON_NAME.max} characters.`;
  if (password.length < PASSWORD.min || password.length > PASSWORD.max)
    return `The password must have ${PASSWORD.min} to ${PASSWORD.max} characters.`;
  return undefined;
}

/** The caller's own account. */
@Injectable()
export class AccountsService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
  ) {}

  @Action({
    name: 'account_get',
    route: 'GET /api/auth/me',
    summary: 'Read the account of the caller',
    effect: 'read',
    permission: 'account.read',
    input: null,
    output: UserView,
  })
  async read(actor: Actor): Promise<UserView> {
    requireScope(actor, 'account.read');
    return this.database.transaction(async unit => userView(await personOf(unit, actor)));
  }

  @Action({
    name: 'account_update',
    route: 'PATCH /api/auth/me',
    summary: 'Rename the account of the caller',
    effect: 'write',
    permission: 'account.update',
    input: UpdateAccount,
    output: UserView,
  })
  async update(actor: Actor, { name }: UpdateAccount): Promise<UserView> {
    requireScope(actor, 'account.update');
    return this.database.transaction(async unit => {
      const user = await personOf(unit, actor);
      user.name = name.trim();
      await unit.flush();
      return userView(user);
    });
  }

  @Action({
    name: 'principal_get',
    route: 'GET /api/auth/principal',
    summary: 'Tell who the request authenticates as',
    effect: 'read',
    permission: null,
    input: null,
    output: PrincipalView,
  })
  async principal(actor: Actor): Promise<PrincipalView> {
    const { type, id, name, email, credential } = actor;
    const { organization_id, scopes, expires_at } = credential;
    const bound = organization_id ? (await this.organizations.list(actor, { limit: 1 })).items[0] : undefined;
    return {
      type,
      id,
      name,
      email,
      organization_id,
      role: bound?.role ?? null,
      credential: { type: credential.type, id: credential.id, scopes, expires_at },
    };
  }
}

async function personOf(unit: UnitOfWork, actor: Actor): Promise<User> {
  if (actor.type !== 'user')
    throw new Forbidden(
      'A service account has no account of a person; GET /api/auth/principal tells who it is',
    );
  return unit.entities.findOneOrFail(User, { id: actor.id });
}

export function userView(user: User): UserView {
  const { id, email, name } = user;
  return {
    id,
    email,
    email_verified_at: isoOrNull(user.emailVerifiedAt),
    name,
    installation_owner: user.installationOwner,
    created_at: iso(user.createdAt),
  };
}
