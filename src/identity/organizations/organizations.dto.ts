import { ORGANIZATION_ROLES, type OrganizationRole, WORKSPACE_ROLES } from '../../platform/access/index.js';
import { ById, Field, NAME, PageInput, PageOf } from '../../platform/dto/index.js';

const name = { ...NAME, example: 'Analytical Engines' };

export class CreateOrganization {
  @Field.text('Name of the organization', name) name: string;
}

export class OrganizationId {
  @Field.id('The organization') organization_id: string;
}

export class ListOfOrganization extends PageInput {
  @Field.id('The organization') organization_id: string;
}

export class UpdateOrganization extends OrganizationId {
  @Field.text('Its new name', name) name: string;
}

export class OrganizationView {
  @Field.id('The organization') id: string;
  @Field.text('Its name', name) name: string;
  @Field.choice('Role of the caller in it', ORGANIZATION_ROLES) role: OrganizationRole;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const OrganizationPage = PageOf(OrganizationView, 'OrganizationPage');

export class TransferOwnership extends OrganizationId {
  @Field.id('The member who becomes its owner; the caller becomes an admin') user_id: string;
}

export class SetMemberRole extends ById({ organization_id: 'The organization', user_id: 'The person' }) {
  @Field.choice('The new role, not above yours', ORGANIZATION_ROLES, { example: 'member' })
  role: OrganizationRole;
}

export class MemberView {
  @Field.id('The person') user_id: string;
  @Field.text('Name', { example: 'Ada Lovelace' }) name: string;
  @Field.text('E-mail address', { example: 'ada@example.com' }) email: string;
  @Field.choice('Role in the organization', ORGANIZATION_ROLES) role: OrganizationRole;
  @Field.time('When they joined') joined_at: string;
}

export const MemberPage = PageOf(MemberView, 'MemberPage');

export class RemovedView {
  @Field.id('The person') user_id: string;
  @Field.boolean('Always true') removed: boolean;
}

export class RuleView {
  @Field.text('The permission', { example: 'workspace.create' }) permission: string;
  @Field.text('The scope that a limited key needs', { example: 'workspaces:write' }) scope: string;

  @Field.choice('Roles that have it', [...ORGANIZATION_ROLES, ...WORKSPACE_ROLES], {
    list: true,
    example: ['owner', 'admin', 'member'],
  })
  roles: string[];
}

export class RolesView {
  @Field.choice('Roles of an organization, highest first', ORGANIZATION_ROLES, { list: true })
  organization_roles: string[];

  @Field.choice('Roles in a workspace, highest first', WORKSPACE_ROLES, { list: true })
  workspace_roles: string[];

  @Field.object('Who may do what to the organization', () => RuleView, { list: true })
  organization: RuleView[];

  @Field.object('Who may do what in a workspace', () => RuleView, { list: true }) workspace: RuleView[];
}
