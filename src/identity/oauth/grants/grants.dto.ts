import { Field, PageOf } from '../../../platform/dto/index.js';

export class GrantView {
  @Field.id('The grant') id: string;

  @Field.text('The client, as it is known to the authorization server', {
    max: 2048,
    example: 'https://client.example.com/client.json',
  })
  client_id: string;

  @Field.text('What the client called itself when it was allowed in', { example: 'Example Client' })
  client_name: string;

  @Field.text('Where you were sent back to; null for a device that showed a code', {
    nullable: true,
    example: 'client.example.com',
  })
  redirect_host: string | null;

  @Field.text('What it may do: scopes, or the bundles read and write', { list: true, example: ['read'] })
  scopes: string[];

  @Field.text('What its tokens are for', { list: true, example: ['https://atelier.example.com/mcp'] })
  resources: string[];

  @Field.id('The only workspaces it sees; null: all that you see', { list: true, nullable: true })
  workspace_ids: string[] | null;

  @Field.time('When you allowed it') created_at: string;

  @Field.time('When it was last used, to the minute; null: never', { nullable: true })
  last_used_at: string | null;

  @Field.time('When it ends, unless it is used before') expires_at: string;
}

export const GrantPage = PageOf(GrantView, 'GrantPage');
