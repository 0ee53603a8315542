import { ById, Field, PageOf } from '../../../platform/dto/index.js';
import { WorkspaceId } from '../../../workspaces/core/index.js';
import { ALLOWANCES, type Allowance } from '../../exposure/index.js';

const ALLOWED = Object.keys(ALLOWANCES) as Allowance[];
const PATH = { max: 4096, example: 'notes/plan.md' };
const ALLOW =
  'What its holders may do: view (look; nothing keeps them from saving what they see), download (also save, folders as a zip), upload (hand files in to a folder, without seeing what is in it)';
const EXPIRES = 'When the link ends; null for never';
const PASSWORD = { min: 4, max: 256, format: 'password', example: 'correct horse battery' } as const;

export const LINK_STATES = ['active', 'expired', 'suspended'] as const;

export class CreateShareLink extends WorkspaceId {
  @Field.text(
    'The file or folder; empty: the whole workspace. Below it, names that begin with a dot stay hidden',
    PATH,
  )
  path: string;

  @Field.choice(ALLOW, ALLOWED, { optional: true, default: 'view' }) allow?: Allowance;
  @Field.time(EXPIRES, { optional: true, nullable: true }) expires_at?: string | null;

  @Field.text('What visitors must enter', { ...PASSWORD, optional: true, nullable: true })
  password?: string | null;
}

export class UpdateShareLink extends ById({ id: 'The share link' }) {
  @Field.choice(ALLOW, ALLOWED, { optional: true, shown: true }) allow?: Allowance;
  @Field.time(EXPIRES, { optional: true, nullable: true }) expires_at?: string | null;

  @Field.text('What visitors must enter from now on; null: nothing', {
    ...PASSWORD,
    optional: true,
    nullable: true,
  })
  password?: string | null;
}

export class ShareLinkView {
  @Field.id('The share link') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('The file or folder it opens', PATH) path: string;
  @Field.choice(ALLOW, ALLOWED) allow: Allowance;

  @Field.text('The link; null for callers who may not manage it, or who may not do what it allows', {
    nullable: true,
    secret: true,
    example: 'https://share.atelier.example.com/s/q3Vn…',
  })
  url: string | null;

  @Field.boolean('Whether visitors must enter a password') has_password: boolean;

  @Field.choice(
    'suspended: it does not work, since its maker may no longer do what it allows, or sharing is turned off in the workspace',
    LINK_STATES,
  )
  state: string;

  @Field.time(EXPIRES, { nullable: true }) expires_at: string | null;
  @Field.integer('How often its pages were opened', { example: 12 }) views: number;
  @Field.integer('How often something was saved', { example: 3 }) downloads: number;
  @Field.integer('How many files were handed in', { example: 0 }) uploads: number;
  @Field.time('When it was last used', { nullable: true }) last_opened_at: string | null;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const ShareLinkPage = PageOf(ShareLinkView, 'ShareLinkPage');
