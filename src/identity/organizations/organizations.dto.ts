import { ORGANIZATION_ROLES, type OrganizationRole } from '../../platform/access/index.js';
import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

const name = {
  min: 1,
  max: 120,
  pattern: /\S/,
  patternHint: 'must not be blank',
  example: 'Analytical Engines',
};

export class ListOrganizations extends PageInput {}

export class CreateOrganization {
  @Field.text('Name of the organization', name)
  name: string;
}

export class OrganizationId {
  @Field.id('The organization')
  organization_id: string;
}

export class UpdateOrganization extends OrganizationId {
  @Field.text('Its new name', name)
  name: string;
}

export class OrganizationView {
  @Field.id('The organization')
  id: string;

  @Field.text('Its name', name)
  name: string;

  @Field.choice('Role of the caller in it', ORGANIZATION_ROLES)
  role: OrganizationRole;

  @Field.time('When it was made')
  created_at: string;

  @Field.time('When it was last changed')
  updated_at: string;
}

export const OrganizationPage = PageOf(OrganizationView, 'OrganizationPage');
