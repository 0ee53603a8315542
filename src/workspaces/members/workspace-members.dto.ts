import { ORGANIZATION_ROLES, WORKSPACE_ROLES, type WorkspaceRole } from '../../platform/access/index.js';
import { ById, Field, PageOf } from '../../platform/dto/index.js';

export class PutWorkspaceMember extends ById({
  workspace_id: 'The workspace',
  user_id: 'The person or service account',
}) {
  @Field.choice('Role in the workspace', WORKSPACE_ROLES, { example: 'editor' }) role: WorkspaceRole;
}

export class WorkspaceMemberView {
  @Field.id('The person or service account') user_id: string;
  @Field.choice('Which of the two', ['user', 'service_account']) type: string;
  @Field.text('Name', { example: 'Ada Lovelace' }) name: string;

  @Field.text('E-mail address, of a person', { nullable: true, example: 'ada@example.com' })
  email: string | null;

  @Field.choice('Role in the workspace', WORKSPACE_ROLES, { example: 'editor' }) role: WorkspaceRole;

  @Field.choice('Role in the organization', ORGANIZATION_ROLES, { example: 'member' })
  organization_role: string;

  @Field.time('When they were added, or made the workspace') added_at: string;
}

export const WorkspaceMemberPage = PageOf(WorkspaceMemberView, 'WorkspaceMemberPage');

export class WorkspaceMemberRemovedView {
  @Field.id('The person or service account') user_id: string;
  @Field.boolean('Always true') removed: boolean;
}
