import { SCOPES } from '../../platform/access/policy.js';
import { Field } from '../../platform/http/field.js';
import { PageInput, PageOf } from '../../platform/http/page.js';

export class ListKeys extends PageInput {}

export class KeyId {
  @Field.id('The key')
  id: string;
}

export class CreateKey {
  @Field.text('What the key is for', { min: 1, max: 120, example: 'CI' })
  name: string;

  @Field.id('The one organization it sees; absent: all of yours', { optional: true })
  organization_id?: string;

  @Field.choice('What it may do; absent: all that you may', SCOPES, { optional: true, list: true })
  scopes?: string[];

  @Field.id('The only workspaces it sees; absent: all that you see', { optional: true, list: true })
  workspace_ids?: string[];

  @Field.time('When it ends; absent: never', { optional: true, example: '2027-11-21T00:00:00.000Z' })
  expires_at?: string;
}

export class KeyView {
  @Field.id('The key')
  id: string;

  @Field.text('What the key is for', { example: 'CI' })
  name: string;

  @Field.text('What is left to recognise it by', { example: 'atl_Ab3f…9c01' })
  hint: string;

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

  @Field.time('When it ends; null: never', { nullable: true })
  expires_at: string | null;

  @Field.time('Last use, to the minute', { nullable: true })
  last_used_at: string | null;

  @Field.time('When it was made')
  created_at: string;
}

export class CreatedKeyView extends KeyView {
  @Field.text('The secret; it is shown this once', { example: 'atl_…' })
  api_key: string;
}

export const KeyPage = PageOf(KeyView, 'KeyPage');
