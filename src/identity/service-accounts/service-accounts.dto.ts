import { ORGANIZATION_ROLES, type OrganizationRole } from '../../platform/access/index.js';
import { ById, Field, NAME, PageInput, PageOf } from '../../platform/dto/index.js';
import { KeyRestrictions } from '../keys/index.js';

const name = { ...NAME, example: 'Deploy bot' };

export class ListServiceAccounts extends PageInput {
  @Field.id("The organization; absent: the credential's, else the caller's first", { optional: true })
  organization_id?: string;
}

export class CreateServiceAccount {
  @Field.id('The organization that owns it') organization_id: string;
  @Field.text('Its name', name) name: string;

  @Field.choice('Its role, not above yours', ORGANIZATION_ROLES, {
    optional: true,
    default: 'member',
    example: 'member',
  })
  role?: OrganizationRole;
}

export class UpdateServiceAccount extends ById({ id: 'The service account' }) {
  @Field.text('Its new name', { ...name, optional: true, shown: true }) name?: string;

  @Field.choice('Its new role, not above yours', ORGANIZATION_ROLES, { optional: true, example: 'member' })
  role?: OrganizationRole;
}

export class CreateServiceAccountKey extends KeyRestrictions {
  @Field.id('The service account') id: string;
}

export class RotateServiceAccountKey extends ById({ id: 'The service account', key_id: 'The key' }) {
  @Field.integer('How long the old key works on, in seconds', {
    min: 0,
    max: 604_800,
    optional: true,
    default: 0,
    example: 3600,
  })
  overlap_seconds?: number;
}

export class ServiceAccountView {
  @Field.id('The service account') id: string;
  @Field.id('The organization that owns it') organization_id: string;
  @Field.text('Its name', name) name: string;
  @Field.choice('The role it was given', ORGANIZATION_ROLES, { example: 'member' }) role: OrganizationRole;

  @Field.choice(
    "The role it has right now: never above its sponsor's; null while suspended",
    ORGANIZATION_ROLES,
    {
      nullable: true,
      example: 'member',
    },
  )
  effective_role: OrganizationRole | null;

  @Field.choice('suspended: its sponsor has left, and its keys do nothing until somebody adopts it', [
    'active',
    'suspended',
  ])
  status: string;

  @Field.id('The person who answers for it') sponsor_id: string;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const ServiceAccountPage = PageOf(ServiceAccountView, 'ServiceAccountPage');
