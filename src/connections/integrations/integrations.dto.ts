import { ById, Field, NAME, PageInput, PageOf, SAMPLE_IDS } from '../../platform/dto/index.js';
import { AUTHS, ProviderDefinition } from './providers/definition.js';
import { CONNECTION_STATES, type ConnectionState } from './records/connections.store.js';
import { METHODS } from './requests/request-path.js';

const OWNERS = ['user', 'organization'] as const;
const PROVIDER = { min: 2, max: 40, example: 'github' };
const name = { ...NAME, max: 80, example: 'GitHub of the team' };
const SCOPES = { list: true, maxItems: 50, max: 200, example: ['repo'] } as const;

export class ListProviders {
  @Field.text('Words of its id or name', { max: 100, optional: true, example: 'git' }) q?: string;

  @Field.id('Whose own providers are listed, too, and whose clients are looked at', { optional: true })
  organization_id?: string;
}

export class ProviderOf {
  @Field.text('The id of the provider', PROVIDER) provider: string;
  @Field.id('The organization', { optional: true }) organization_id?: string;
}

export class OwnProvider {
  @Field.text('The id of the provider', PROVIDER) provider: string;
  @Field.id('The organization whose it is') organization_id: string;
}

export class CreateProvider {
  @Field.id('The organization whose it is') organization_id: string;
  @Field.object('All that is known of it', () => ProviderDefinition) definition: ProviderDefinition;
}

export class UpdateProvider extends OwnProvider {
  @Field.object('All that is known of it; its id stays', () => ProviderDefinition)
  definition: ProviderDefinition;
}

export class SetClient extends OwnProvider {
  @Field.text('The client id that the provider gave out; null: the organization has none of its own', {
    min: 1,
    max: 500,
    nullable: true,
    example: 'Iv23li8K2bZ0d5s7a1cd',
  })
  client_id: string | null;

  @Field.text('The client secret; none: a public client', {
    min: 1,
    max: 2000,
    optional: true,
    format: 'password',
    example: '…',
  })
  client_secret?: string;
}

export class ProviderView {
  @Field.text('Its id', PROVIDER) id: string;
  @Field.text('What people call it', { example: 'GitHub' }) name: string;
  @Field.choice('How it lets programs in', AUTHS) auth: (typeof AUTHS)[number];
  @Field.boolean('Whether it comes with the service, and is not the organization’s own') built_in: boolean;

  @Field.choice(
    'Whose client is used; null: there is none, and one has to be registered first',
    ['organization', 'installation'],
    { nullable: true },
  )
  client: 'organization' | 'installation' | null;

  @Field.text('The redirect address to register', {
    nullable: true,
    example: 'https://atelier.example.com/api/integrations/callback',
  })
  redirect_uri: string | null;

  @Field.object('All that is known of it', () => ProviderDefinition) definition: ProviderDefinition;
}

export class ProviderListView {
  @Field.object('The providers', () => ProviderView, { list: true, maxItems: 1000 }) items: ProviderView[];
}

export class CreateIntegration {
  @Field.text('The id of the provider', { ...PROVIDER, example: 'api_key' }) provider: string;
  @Field.id('The organization') organization_id: string;

  @Field.choice('Whose it is: yours, for your own runs alone, or the organization’s', OWNERS, {
    optional: true,
  })
  owner?: (typeof OWNERS)[number];

  @Field.text('What to call it; absent: as the provider', { ...name, optional: true }) name?: string;

  @Field.text('Scopes to ask for; absent: those of the provider', { ...SCOPES, optional: true })
  scopes?: string[];

  @Field.record('What the provider wants typed, where there is no sign-in; secrets go to the vault', {
    optional: true,
    secret: true,
    example: { base_url: 'https://api.example.com/v1', api_key: 'key-of-mine' },
    shown: true,
  })
  fields?: Record<string, unknown>;

  @Field.text('Where the person goes on afterwards, a path of this service', {
    max: 500,
    optional: true,
    example: '/settings',
  })
  return_path?: string;
}

export class ListIntegrations extends PageInput {
  @Field.id('Of this organization', { optional: true }) organization_id?: string;
  @Field.id('Granted to this workspace', { optional: true }) workspace_id?: string;
  @Field.text('Of this provider', { ...PROVIDER, optional: true }) provider?: string;
  @Field.choice('In this state', CONNECTION_STATES, { optional: true }) state?: ConnectionState;
}

export class UpdateIntegration extends ById({ id: 'The connection' }) {
  @Field.text('What to call it', { ...name, optional: true }) name?: string;

  @Field.record('Other values of what was typed: a new key, say; those that are left out stay', {
    optional: true,
    secret: true,
    example: { api_key: '…' },
  })
  fields?: Record<string, unknown>;
}

export class AuthorizeIntegration extends ById({ id: 'The connection' }) {
  @Field.text('Scopes to ask for; absent: those that it has', { ...SCOPES, optional: true })
  scopes?: string[];

  @Field.text('Where the person goes on afterwards, a path of this service', {
    max: 500,
    optional: true,
    example: '/settings',
  })
  return_path?: string;
}

export class IntegrationGrant {
  @Field.id('The workspace') workspace_id: string;

  @Field.choice('Methods that may be used there; none: all', METHODS, { list: true, optional: true })
  methods?: string[];

  @Field.text('What paths have to be below; none: all', {
    list: true,
    maxItems: 50,
    max: 500,
    optional: true,
    example: ['/repos/acme'],
  })
  paths?: string[];

  @Field.text(
    'Of a GitHub App: the repositories that its tokens there are for, by their names without the account; none: all of the installation',
    {
      list: true,
      maxItems: 100,
      min: 1,
      max: 100,
      optional: true,
      example: ['site'],
      pattern: /^[A-Za-z0-9._-]+$/,
      patternHint: 'must be names such as site, without the account',
    },
  )
  repositories?: string[];

  @Field.record(
    'Of a GitHub App: what its tokens there may, by name: read, write or admin; none: all that the app may',
    { optional: true, example: { contents: 'read', issues: 'write' } },
  )
  permissions?: Record<string, unknown>;
}

export class SetIntegrationGrants extends ById({ id: 'The connection' }) {
  @Field.object('Where it may be used, and for what; others that you see lose it', () => IntegrationGrant, {
    list: true,
    example: [{ workspace_id: SAMPLE_IDS.workspace_id }],
  })
  grants: IntegrationGrant[];
}

export class AccountView {
  @Field.text('Its id there', { example: '583231' }) id: string;
  @Field.text('Its name there', { example: 'octocat' }) label: string;
}

export class IntegrationGrantView {
  @Field.id('The workspace') workspace_id: string;

  @Field.text('Methods that may be used there; none: all', { list: true, example: ['GET'] })
  methods: string[];

  @Field.text('What paths have to be below; none: all', { list: true, example: ['/repos/acme'] })
  paths: string[];

  @Field.text('Repositories that its tokens there are for; none: all', { list: true, example: ['site'] })
  repositories: string[];

  @Field.record('What its tokens there may; none: all that the app may', { example: { contents: 'read' } })
  permissions: Record<string, string>;
}

export class IntegrationView {
  @Field.id('The connection; it stays the same when it is authorized again') id: string;
  @Field.id('The organization') organization_id: string;
  @Field.choice('Whose it is', OWNERS) owner: (typeof OWNERS)[number];
  @Field.id('The person whose it is; null: the organization’s', { nullable: true }) user_id: string | null;
  @Field.text('The id of the provider', PROVIDER) provider: string;
  @Field.text('What it is called', name) name: string;

  @Field.object('The account there; null where it is not known', () => AccountView, { nullable: true })
  account: AccountView | null;

  @Field.choice(
    '`pending`: nobody authorized it yet; `needs_reauth`: a person has to authorize it again; `error`: the provider does not take us as we are set up',
    CONNECTION_STATES,
  )
  state: ConnectionState;

  @Field.text('Why it is in this state', { nullable: true }) reason: string | null;
  @Field.text('Scopes that it has', { list: true, maxItems: 200, example: ['repo'] }) scopes: string[];
  @Field.record('What was typed and is no secret') settings: Record<string, string>;

  @Field.object('Where it may be used, of the workspaces that you see', () => IntegrationGrantView, {
    list: true,
    maxItems: 1000,
  })
  grants: IntegrationGrantView[];

  @Field.time('When its access token ends; it is renewed before', { nullable: true })
  access_expires_at: string | null;

  @Field.time('When a person has to authorize it again at the latest, where that is known', {
    nullable: true,
  })
  expires_at: string | null;

  @Field.time('When it was last used', { nullable: true }) last_used_at: string | null;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const IntegrationPage = PageOf(IntegrationView, 'IntegrationPage');

export class StartedAuthorizationView {
  @Field.text('Where a person goes on, in the browser in which they are signed in', {
    example: 'https://atelier.example.com/connections/authorize/…',
    secret: true,
  })
  authorize_url: string;

  @Field.time('Until when') expires_at: string;
}

export class CreatedIntegrationView {
  @Field.object('The connection', () => IntegrationView) connection: IntegrationView;

  @Field.object('How to go on; null where it is active already', () => StartedAuthorizationView, {
    nullable: true,
  })
  authorization: StartedAuthorizationView | null;
}

export class IntegrationTestView {
  @Field.boolean('Whether the provider takes it') accepted: boolean;

  @Field.integer('The status that it answered; null where it was not asked', { nullable: true, example: 200 })
  status: number | null;

  @Field.object('The account that it names', () => AccountView, { nullable: true })
  account: AccountView | null;

  @Field.text('Scopes that it has', { list: true, maxItems: 200, example: ['repo'] }) scopes: string[];
  @Field.integer('How long the answer took, in milliseconds', { example: 84 }) latency_ms: number;
}
