import { EFFECTS } from '../../platform/access/index.js';
import { ACTION_RUN_STATUSES, PROGRAMS, SURFACES } from '../../platform/actions/index.js';
import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

const CREDENTIALS = ['session', 'api_key', 'oauth', 'exec'];
const CALLERS = ['session', 'api_key', 'oauth', ...PROGRAMS];

export class ListActionRuns extends PageInput {
  @Field.id('Only what was done in this workspace', { optional: true }) workspace_id?: string;
  @Field.id('Only what was done in this organization', { optional: true }) organization_id?: string;
  @Field.text('Only this action', { max: 64, optional: true }) action?: string;

  @Field.text(
    'Only this kind of caller (session, api_key, oauth, run, site, server, automation), or its id',
    {
      max: 64,
      optional: true,
    },
  )
  caller?: string;

  @Field.choice('Only runs that stand so', ACTION_RUN_STATUSES, { optional: true }) status?: string;
  @Field.time('Only from this time on', { optional: true }) from?: string;
  @Field.time('Only before this time', { optional: true }) to?: string;
}

export class ActionActorView {
  @Field.choice('What it is', ['user', 'service_account']) type: string;
  @Field.id('Who it is') id: string;
  @Field.text('Its name at that time', { example: 'Ada' }) name: string;
}

export class ActionCallerView {
  @Field.choice('What called: a credential, or a program that acts for the actor', CALLERS) kind: string;

  @Field.text('The key, session or grant; the run, site, server or automation', {
    example: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  id: string;
}

export class ActionCredentialView {
  @Field.choice('With what it proved who it is', CREDENTIALS) type: string;
  @Field.text('The credential', { example: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' }) id: string;
}

export class ActionRunErrorView {
  @Field.integer('The status that a route would answer with', { example: 403 }) status: number;

  @Field.text('Why it was refused or failed', { example: 'This key lacks the scope files:write' })
  detail: string;
}

export class ActionRunSummary {
  @Field.id('The run') id: string;

  @Field.text('The action, as it was called; empty where the call named none', { example: 'file_write' })
  action: string;

  @Field.choice('What it does to the world; null where there is no such action', EFFECTS, { nullable: true })
  effect: string | null;

  @Field.choice('How it stands', ACTION_RUN_STATUSES) status: string;
  @Field.boolean('Whether it was only checked') dry_run: boolean;
  @Field.choice('By which way it was called', SURFACES) surface: string;
  @Field.object('What called', () => ActionCallerView) caller: ActionCallerView;
  @Field.object('On whose authority it was done', () => ActionActorView) actor: ActionActorView;

  @Field.id('On whose behalf a program called; null where the actor called', { nullable: true })
  on_behalf_of_id: string | null;

  @Field.object('With which credential', () => ActionCredentialView) credential: ActionCredentialView;
  @Field.id('The organization, where it is known', { nullable: true }) organization_id: string | null;
  @Field.id('The workspace, where there is one', { nullable: true }) workspace_id: string | null;
  @Field.text('X-Request-Id of the request', { nullable: true }) request_id: string | null;
  @Field.time('When it began') started_at: string;
  @Field.time('When it ended', { nullable: true }) finished_at: string | null;
  @Field.integer('How long it took', { nullable: true, example: 12 }) duration_ms: number | null;

  @Field.object('Why it was refused or failed', () => ActionRunErrorView, { nullable: true })
  error: ActionRunErrorView | null;
}

export class ActionRunView extends ActionRunSummary {
  @Field.json('The input, without secrets; long texts are cut', { nullable: true }) input: unknown;
  @Field.json('The output, without secrets; long texts are cut', { nullable: true }) output: unknown;
}

export const ActionRunPage = PageOf(ActionRunSummary, 'ActionRunPage');
