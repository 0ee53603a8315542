import { SCOPES } from '../../platform/access/index.js';
import { ById, Field, NAME, PageOf } from '../../platform/dto/index.js';

const name = { ...NAME, example: 'CI' };
const EXPIRY = { optional: true, example: '2027-11-21T00:00:00.000Z' };
const MAX_OVERLAP_SECONDS = 7 * 86_400;

/** What narrows a new key. */
export class KeyRestrictions {
  @Field.text('What the key is for', name) name: string;

  @Field.choice('What it may do; absent: all that its owner may', SCOPES, { optional: true, list: true })
  scopes?: string[];

  @Field.id(
    'The only workspaces it sees; it then changes nothing of the organization either. Absent: all that its owner sees',
    { optional: true, list: true },
  )
  workspace_ids?: string[];

  @Field.time('When it ends; absent: never', EXPIRY) expires_at?: string;
}

export class CreateKey extends KeyRestrictions {
  @Field.id('The one organization it sees; absent: all of yours', { optional: true })
  organization_id?: string;
}

/** What can be changed of a key; what is absent stays. */
export class KeyChanges {
  @Field.text('What the key is for', { ...name, optional: true, shown: true }) name?: string;

  @Field.choice('What it may do; null: all that its owner may', SCOPES, {
    optional: true,
    nullable: true,
    list: true,
  })
  scopes?: string[] | null;

  @Field.id('The only workspaces it sees; null: all that its owner sees', {
    optional: true,
    nullable: true,
    list: true,
  })
  workspace_ids?: string[] | null;

  @Field.time('When it ends; null: never', { ...EXPIRY, nullable: true }) expires_at?: string | null;
}

export class UpdateKey extends KeyChanges {
  @Field.id('The key') id: string;
}

export class RotateKey extends ById({ id: 'The key' }) {
  @Field.integer('How long the old key works on, in seconds', {
    min: 0,
    max: MAX_OVERLAP_SECONDS,
    optional: true,
    default: 0,
    example: 3600,
  })
  overlap_seconds?: number;
}

export class KeyView {
  @Field.id('The key') id: string;
  @Field.text('What the key is for', { example: 'CI' }) name: string;
  @Field.text('What is left to recognise it by', { example: 'atl_Ab3f…9c01' }) hint: string;

  @Field.id('The one organization it sees; null: all of its owner', { nullable: true })
  organization_id: string | null;

  @Field.text('What it may do; null: all that its owner may', {
    nullable: true,
    list: true,
    example: ['files:read'],
  })
  scopes: string[] | null;

  @Field.id('The only workspaces it sees; null: all that its owner sees', { nullable: true, list: true })
  workspace_ids: string[] | null;

  @Field.id('The key that took its place, while it still works', { nullable: true })
  replaced_by: string | null;

  @Field.time('When it ends; null: never', { nullable: true }) expires_at: string | null;
  @Field.time('Last use, to the minute', { nullable: true }) last_used_at: string | null;
  @Field.time('When it was made') created_at: string;
}

export class CreatedKeyView extends KeyView {
  @Field.text('The secret; it is shown this once', { example: 'atl_…', secret: true }) api_key: string;
}

export const KeyPage = PageOf(KeyView, 'KeyPage');
