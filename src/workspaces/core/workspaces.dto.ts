import {
  VISIBILITIES,
  type Visibility,
  WORKSPACE_ROLES,
  type WorkspaceRole,
} from '../../platform/access/index.js';
import { Field, NAME, PageInput, PageOf } from '../../platform/dto/index.js';

const name = { ...NAME, example: 'Research' };
const VISIBILITY =
  'Who sees it: org (every member but guests), restricted (those added, and admins), private (its creator)';

export class ListWorkspaces extends PageInput {
  @Field.id('Only those of this organization', { optional: true }) organization_id?: string;
}

export class CreateWorkspace {
  @Field.text('Name of the workspace', name) name: string;

  @Field.id("The organization it belongs to; absent: the credential's, else the caller's first", {
    optional: true,
  })
  organization_id?: string;

  @Field.choice(VISIBILITY, VISIBILITIES, { optional: true, default: 'org' }) visibility?: Visibility;

  @Field.id(
    'A template to make it of, in the background: only the caller sees it until its files are there',
    {
      optional: true,
    },
  )
  template_id?: string;

  @Field.integer('The version of the template; absent: the newest', {
    min: 1,
    max: 1_000_000,
    optional: true,
    example: 1,
  })
  version?: number;

  @Field.record('A value for each parameter of the template', { optional: true })
  parameters?: Record<string, unknown>;
}

export class WorkspaceId {
  @Field.id('The workspace') workspace_id: string;
}

/** Input of a list over all workspaces that the caller sees. */
export class ListAcrossWorkspaces extends PageInput {
  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;
}

export class ListOfWorkspace extends PageInput {
  @Field.id('The workspace') workspace_id: string;
}

export class UpdateWorkspace extends WorkspaceId {
  @Field.text('Its new name', name) name: string;
}

export class SetVisibility extends WorkspaceId {
  @Field.choice(VISIBILITY, VISIBILITIES) visibility: Visibility;
}

export class WorkspaceView {
  @Field.id('The workspace') id: string;
  @Field.id('The organization it belongs to') organization_id: string;
  @Field.text('Its name', name) name: string;
  @Field.choice(VISIBILITY, VISIBILITIES) visibility: Visibility;
  @Field.choice('Role of the caller in it', WORKSPACE_ROLES) role: WorkspaceRole;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export class CreatedWorkspaceView extends WorkspaceView {
  @Field.id('The operation that brings the files of the template, to be watched below /api/operations', {
    nullable: true,
  })
  operation_id: string | null;

  @Field.text('What to do by hand before what the template is for works', { list: true, example: [] })
  next_steps: string[];
}

export const WorkspacePage = PageOf(WorkspaceView, 'WorkspacePage');
