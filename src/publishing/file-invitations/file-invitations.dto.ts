import { ById, Field, NAME, PageInput, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';

export const INVITED_ROLES = ['viewer', 'editor'] as const;
export type InvitedRole = (typeof INVITED_ROLES)[number];

const PATH = { max: 4096, example: 'notes/plan.md' };
const BELOW = { max: 4096, optional: true, example: '' };
const EMAIL = { max: 254, format: 'email', example: 'ada@example.com' } as const;
const ROLE = 'What they may do with it: viewer (read), editor (also write)';

export class ListFileInvitations extends PageInput {
  @Field.boolean('Those that the caller accepted: what is shared with them', {
    optional: true,
    default: false,
  })
  mine?: boolean;

  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;
}

export class CreateFileInvitation extends WorkspaceId {
  @Field.text('The file or folder. Below it, names that begin with a dot stay hidden', PATH) path: string;
  @Field.text('Who is invited', EMAIL) email: string;
  @Field.choice(ROLE, INVITED_ROLES, { optional: true, default: 'viewer' }) role?: InvitedRole;
}

export class FileInvitationToken {
  @Field.text('The token in the link', { max: 200, example: 'q3Vn…', secret: true }) token: string;
}

export class RegisterForFiles extends FileInvitationToken {
  @Field.text('Name of the account to make', { ...NAME, example: 'Ada Lovelace' }) name: string;

  @Field.text('Its password', { min: 8, max: 256, format: 'password', example: 'correct horse battery' })
  password: string;
}

export class InvitedPath extends ById({ id: 'The file invitation' }) {
  @Field.text('A path below what is shared; absent or empty: that itself', BELOW) path?: string;
}

export class ListInvitedFiles extends PageInput {
  @Field.id('The file invitation') id: string;
  @Field.text('A folder below what is shared; absent or empty: that itself', BELOW) path?: string;
}

export class FileInvitationView {
  @Field.id('The file invitation') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('The file or folder', PATH) path: string;
  @Field.text('Who is invited', EMAIL) email: string;
  @Field.choice(ROLE, INVITED_ROLES) role: InvitedRole;

  @Field.choice('suspended: whoever invited may not do any more what it allows', [
    'pending',
    'accepted',
    'expired',
    'suspended',
  ])
  status: string;

  @Field.id('Who invited them') invited_by: string;
  @Field.text('Their name', { nullable: true, example: 'Grace Hopper' }) invited_by_name: string | null;
  @Field.time('When it was accepted', { nullable: true }) accepted_at: string | null;
  @Field.time('When it was made') created_at: string;
  @Field.time('Until when it can be accepted') expires_at: string;
}

export class SentFileInvitationView extends FileInvitationView {
  @Field.text('The token that accepts it; shown this once', { example: 'q3Vn…', secret: true }) token: string;

  @Field.text('The link to hand over; shown this once', {
    example: 'https://atelier.example.com/file-invitations/q3Vn…',
    secret: true,
  })
  link: string;

  @Field.boolean('Whether it was also sent by mail') mailed: boolean;
}

export class DeclinedFilesView {
  @Field.boolean('Always true') declined: boolean;
}

export class RegisteredForFilesView {
  @Field.id('The account that was made; sign in with its password') user_id: string;
  @Field.id('The file invitation, accepted') file_invitation_id: string;
}

export const FileInvitationPage = PageOf(FileInvitationView, 'FileInvitationPage');
