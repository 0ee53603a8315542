import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

export class ListAudit extends PageInput {
  @Field.id('The organization') organization_id: string;
  @Field.text('Only this action, e.g. workspace.set_visibility', { optional: true, max: 64 }) action?: string;
  @Field.id('Only what this person or service account did', { optional: true }) actor_id?: string;

  @Field.text('Only what was done to this kind of thing, e.g. workspace', { optional: true, max: 64 })
  target_type?: string;

  @Field.text('Only what was done to this one', { optional: true, max: 200 }) target_id?: string;
  @Field.time('Only from this time on', { optional: true }) from?: string;
  @Field.time('Only before this time', { optional: true }) to?: string;
}

export class AuditActorView {
  @Field.choice('What acted', ['user', 'service_account']) type: string;
  @Field.id('Who acted') id: string;
  @Field.text('Its name at that time', { example: 'Ada' }) name: string;
}

export class AuditCredentialView {
  @Field.choice('How they proved who they are', ['api_key', 'session', 'oauth', 'exec']) type: string;
  @Field.id('The key, session or grant') id: string;
}

export class AuditTargetView {
  @Field.text('Kind of thing', { example: 'workspace' }) type: string;
  @Field.text('The thing', { example: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' }) id: string;
}

export class AuditEntryView {
  @Field.id('The entry') id: string;
  @Field.time('When it was done') time: string;

  @Field.object('Who did it; null for the service itself', () => AuditActorView, { nullable: true })
  actor: AuditActorView | null;

  @Field.id('On whose behalf, where that is somebody else', { nullable: true })
  on_behalf_of_id: string | null;

  @Field.object('With which credential', () => AuditCredentialView, { nullable: true })
  credential: AuditCredentialView | null;

  @Field.text('What was done', { example: 'workspace.set_visibility' }) action: string;
  @Field.object('What it was done to; it may be gone by now', () => AuditTargetView) target: AuditTargetView;
  @Field.id('The organization') organization_id: string;
  @Field.id('The workspace it was done in', { nullable: true }) workspace_id: string | null;
  @Field.json('What changed', { example: { from: 'org', to: 'private' } }) details: object;

  @Field.text('Address it was asked for from', { nullable: true, example: '203.0.113.7' })
  address: string | null;

  @Field.text('Program it was asked for with', { nullable: true, example: 'curl/8.14' })
  user_agent: string | null;

  @Field.text('X-Request-Id of the request', { nullable: true }) request_id: string | null;
}

export const AuditPage = PageOf(AuditEntryView, 'AuditPage');
