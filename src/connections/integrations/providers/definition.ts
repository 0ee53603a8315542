import { Field } from '../../../platform/dto/index.js';

export const AUTHS = ['oauth2', 'api_key', 'basic', 'github_app'] as const;
export const REVOCATIONS = ['rfc7009', 'bearer', 'json', 'github'] as const;
const URL_RULES = { max: 500, pattern: /^https?:\/\/[^\s#]+$/, patternHint: 'must be an https address' };
const WORD = { max: 40, pattern: /^[a-z][a-z0-9_]*$/, patternHint: 'must have small letters, digits and _' };

/** What a person types where there is no sign-in. */
export class ProviderField {
  @Field.text('Its name', { ...WORD, example: 'api_key' }) name: string;
  @Field.text('What people read', { min: 1, max: 80, example: 'API key' }) label: string;
  @Field.boolean('Whether it is kept in the vault and never shown') secret: boolean;
  @Field.text('Where to find it', { max: 300, optional: true, example: 'Settings → API' }) help?: string;

  @Field.text('What it is where nothing is typed', { max: 500, optional: true, example: 'Authorization' })
  default?: string;
}

export class ProviderIdentity {
  @Field.text('Where the provider says whose the credential is', {
    ...URL_RULES,
    example: 'https://api.github.com/user',
  })
  url: string;

  @Field.choice('How it is asked', ['GET', 'POST'], { optional: true }) method?: 'GET' | 'POST';

  @Field.text('The body of a POST', { max: 2000, optional: true, example: '{"query":"{viewer{id}}"}' })
  body?: string;

  @Field.text('Where in the answer the id of the account is', { max: 100, example: 'id' }) id: string;
  @Field.text('Where in the answer its name is', { max: 100, example: 'login' }) label: string;
}

export class ProviderApi {
  @Field.text('What paths of requests are below; `{name}` stands for a field', {
    max: 500,
    example: 'https://api.github.com',
  })
  base_url: string;

  @Field.text('Hosts that get the credential', {
    list: true,
    maxItems: 20,
    min: 1,
    max: 255,
    example: ['api.github.com'],
  })
  hosts: string[];

  @Field.text('The header that takes it; `{name}` stands for a field', {
    max: 60,
    pattern: /^[A-Za-z{][\w{}-]*$/,
    patternHint: 'must be the name of a header',
    example: 'Authorization',
  })
  header: string;

  @Field.text('What the header holds: `{access_token}`, `{basic}`, or `{name}` of a field', {
    max: 200,
    example: 'Bearer {access_token}',
  })
  template: string;

  @Field.record('Other headers of each request', { optional: true, example: { accept: 'application/json' } })
  headers?: Record<string, string>;

  @Field.text('A path that answers 2xx where the credential is good', {
    max: 200,
    optional: true,
    example: '/user',
  })
  probe?: string;
}

export class ProviderRevocation {
  @Field.text('Where', { ...URL_RULES, example: 'https://oauth2.googleapis.com/revoke' }) url: string;

  @Field.choice(
    'How: a form (RFC 7009), JSON, a request with the token itself, or as GitHub has it',
    REVOCATIONS,
  )
  style: (typeof REVOCATIONS)[number];
}

export class ProviderRefresh {
  @Field.boolean('Whether each renewal brings another refresh token') rotates: boolean;

  @Field.integer('Days after which a refresh token ends', { min: 1, max: 3650, optional: true, example: 180 })
  lifetime_days?: number;
}

export class ProviderGit {
  @Field.text('Hosts of repositories', { list: true, maxItems: 10, max: 255, example: ['github.com'] })
  hosts: string[];

  @Field.text('The user name that goes with the token', { max: 100, example: 'x-access-token' })
  username: string;
}

/** All that is known of a provider: the built-in ones and those of organizations are checked by this one shape. */
export class ProviderDefinition {
  @Field.text('Its id', {
    min: 2,
    max: 40,
    pattern: /^[a-z0-9][a-z0-9_-]*$/,
    patternHint: 'must have small letters, digits, - and _',
    example: 'acme',
  })
  id: string;

  @Field.text('What people call it', { min: 1, max: 80, example: 'Acme' }) name: string;

  @Field.text('Where to read about its credentials', {
    max: 500,
    example: 'https://acme.example.com/docs/oauth',
  })
  docs: string;

  @Field.choice('How it lets programs in', AUTHS) auth: (typeof AUTHS)[number];

  @Field.text('Where people authorize', {
    ...URL_RULES,
    optional: true,
    shown: true,
    example: 'https://acme.example.com/oauth/authorize',
  })
  authorize_url?: string;

  @Field.text('Where tokens come from', {
    ...URL_RULES,
    optional: true,
    shown: true,
    example: 'https://acme.example.com/oauth/token',
  })
  token_url?: string;

  @Field.text('What it calls itself (RFC 9207); absent: what has the origin of authorize_url', {
    ...URL_RULES,
    optional: true,
    example: 'https://acme.example.com',
  })
  issuer?: string;

  @Field.object('How tokens are revoked', () => ProviderRevocation, { optional: true })
  revocation?: ProviderRevocation;

  @Field.text('Scopes that are asked for unless others are', {
    list: true,
    maxItems: 50,
    max: 200,
    optional: true,
    example: ['read'],
  })
  scopes_default?: string[];

  @Field.text('Scopes that there are', {
    list: true,
    maxItems: 200,
    max: 200,
    optional: true,
    example: ['read', 'write'],
  })
  scopes_available?: string[];

  @Field.choice('What stands between scopes', [' ', ','], { optional: true }) scope_separator?: ' ' | ',';

  @Field.boolean('Whether it checks PKCE (RFC 7636), which is always sent', { optional: true })
  pkce?: boolean;

  @Field.choice('How the client shows its secret', ['basic', 'post', 'none'], { optional: true })
  client_auth?: 'basic' | 'post' | 'none';

  @Field.choice('How token requests are written', ['form', 'json'], { optional: true })
  token_format?: 'form' | 'json';

  @Field.record('More parameters of authorize_url', { optional: true, example: { access_type: 'offline' } })
  authorize_params?: Record<string, string>;

  @Field.object('How tokens are renewed', () => ProviderRefresh, { optional: true })
  refresh?: ProviderRefresh;

  @Field.object('Whose a credential is', () => ProviderIdentity, { optional: true })
  identity?: ProviderIdentity;

  @Field.object('Its API', () => ProviderApi) api: ProviderApi;
  @Field.object('Its repositories', () => ProviderGit, { optional: true }) git?: ProviderGit;

  @Field.text(
    'Variables that programs look for before they ask; in sandboxes they hold a placeholder, and requests get the credential',
    {
      list: true,
      maxItems: 5,
      max: 60,
      pattern: /^[A-Z][A-Z0-9_]*_(?:TOKEN|KEY|SECRET|PASSWORD|PAT)$/,
      patternHint: 'must have names such as ACME_TOKEN',
      optional: true,
      example: ['ACME_TOKEN'],
    },
  )
  variables?: string[];

  @Field.object('What a person types', () => ProviderField, { list: true, maxItems: 10, optional: true })
  fields?: ProviderField[];

  @Field.text('What the signature of its webhooks is called in automations', {
    max: 20,
    optional: true,
    example: 'github',
  })
  webhook?: string;
}
