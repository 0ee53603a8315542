import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

export class ListExposed extends PageInput {
  @Field.id('The organization')
  organization_id: string;
}

export class ExposedView {
  @Field.id('Its id, in its own list')
  id: string;

  @Field.text('What kind of thing it is: share for a share link', { example: 'share' })
  kind: string;

  @Field.text('What is reachable: a path, a name', { example: 'notes/plan.md' })
  name: string;

  @Field.id('The workspace it belongs to')
  workspace_id: string;

  @Field.text('The name of that workspace', { example: 'Research' })
  workspace_name: string;

  @Field.text('Where it is reachable; null where the caller may not go through it themselves', {
    nullable: true,
    secret: true,
    example: 'https://share.atelier.example.com/s/q3Vn…',
  })
  url: string | null;

  @Field.choice('What keeps others out', ['nothing', 'link', 'password', 'sign_in'], { example: 'link' })
  protection: string;

  @Field.choice('What those who reach it may do', ['view', 'download', 'upload', 'use'])
  allow: string;

  @Field.time('When it ends by itself', { nullable: true })
  expires_at: string | null;

  @Field.id('Who made it')
  created_by: string;

  @Field.time('When it was made')
  created_at: string;

  @Field.text('DELETE this path to end it', {
    example: '/api/share/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  revoke_path: string;
}

export const ExposedPage = PageOf(ExposedView, 'ExposedPage');
