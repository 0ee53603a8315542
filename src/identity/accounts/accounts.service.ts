import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { OrganizationsStore } from '../organizations/index.js';
import { PrincipalView, UpdateAccount, UserView } from './accounts.dto.js';
import { User } from './user.entity.js';

/** The caller's own account. */
@Injectable()
export class AccountsService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
  ) {}

  @Action('account_get', 'GET /api/auth/me', {
    summary: 'Read the account of the caller',
    permission: 'account.read',
    input: null,
    output: UserView,
  })
  async read(actor: Actor): Promise<UserView> {
    requireScope(actor, 'account.read');
    return this.database.transaction(async unit => userView(await personOf(unit, actor)));
  }

  @Action('account_update', 'PATCH /api/auth/me', {
    summary: 'Rename the account of the caller',
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

  @Action('principal_get', 'GET /api/auth/principal', {
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
