import { ORGANIZATION_ROLES, type OrganizationRole } from '../../platform/access/index.js';
import { Field, NAME } from '../../platform/dto/index.js';

export const EMAIL = { format: 'email', max: 254, example: 'ada@example.com' } as const;
export const PASSWORD = { min: 8, max: 256, format: 'password', example: 'correct horse battery' } as const;
export const PERSON_NAME = { ...NAME, example: 'Ada Lovelace' };

export class UserView {
  @Field.id('The user') id: string;
  @Field.text('E-mail address', EMAIL) email: string;

  @Field.time('When the address was verified; null: not yet', { nullable: true })
  email_verified_at: string | null;

  @Field.text('Name shown to others', PERSON_NAME) name: string;
  @Field.boolean('Whether this account owns the installation') installation_owner: boolean;
  @Field.time('When the account was made') created_at: string;
}

export class UpdateAccount {
  @Field.text('Name shown to others', PERSON_NAME) name: string;
}

export class CredentialView {
  @Field.choice('How the request proved who it is', ['api_key', 'session', 'oauth', 'exec']) type: string;
  @Field.id('The key, session or grant') id: string;

  @Field.text('Scopes it is limited to; null: all that its owner may do', {
    list: true,
    nullable: true,
    example: ['files:read'],
  })
  scopes: readonly string[] | null;

  @Field.time('When it ends; null: never', { nullable: true }) expires_at: string | null;
}

export class PrincipalView {
  @Field.choice('Kind of identity', ['user', 'service_account']) type: string;
  @Field.id('The user or service account') id: string;
  @Field.text('Its name', { example: 'Ada Lovelace' }) name: string;

  @Field.text('E-mail address, of a user', { nullable: true, example: 'ada@example.com' })
  email: string | null;

  @Field.id('The organization that the credential is bound to', { nullable: true })
  organization_id: string | null;

  @Field.choice('Role in that organization', ORGANIZATION_ROLES, { nullable: true })
  role: OrganizationRole | null;

  @Field.object('What the request authenticated with', () => CredentialView) credential: CredentialView;
}
