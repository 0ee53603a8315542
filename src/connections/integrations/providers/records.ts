/** Capabilities are chosen by the person, page by page; there are no scopes. */
export const notion = {
  id: 'notion',
  name: 'Notion',
  docs: 'https://developers.notion.com/docs/authorization',
  auth: 'oauth2',
  authorize_url: 'https://api.notion.com/v1/oauth/authorize',
  token_url: 'https://api.notion.com/v1/oauth/token',
  revocation: { url: 'https://api.notion.com/v1/oauth/revoke', style: 'json' },
  pkce: false,
  client_auth: 'basic',
  token_format: 'json',
  authorize_params: { owner: 'user' },
  refresh: { rotates: true },
  identity: {
    url: 'https://api.notion.com/v1/users/me',
    id: 'bot.workspace_id',
    label: 'bot.workspace_name',
  },
  api: {
    base_url: 'https://api.notion.com/v1',
    hosts: ['api.notion.com'],
    header: 'Authorization',
    template: 'Bearer {access_token}',
    headers: { 'notion-version': '2022-06-28' },
    probe: '/users/me',
  },
};

export const airtable = {
  id: 'airtable',
  name: 'Airtable',
  docs: 'https://airtable.com/developers/web/api/oauth-reference',
  auth: 'oauth2',
  authorize_url: 'https://airtable.com/oauth2/v1/authorize',
  token_url: 'https://airtable.com/oauth2/v1/token',
  scopes_default: ['user.email:read', 'schema.bases:read', 'data.records:read'],
  scopes_available: [
    'user.email:read',
    'schema.bases:read',
    'schema.bases:write',
    'data.records:read',
    'data.records:write',
    'data.recordComments:read',
    'data.recordComments:write',
    'webhook:manage',
  ],
  pkce: true,
  client_auth: 'basic',
  refresh: { rotates: true, lifetime_days: 60 },
  identity: { url: 'https://api.airtable.com/v0/meta/whoami', id: 'id', label: 'email' },
  api: {
    base_url: 'https://api.airtable.com/v0',
    hosts: ['api.airtable.com', 'content.airtable.com'],
    header: 'Authorization',
    template: 'Bearer {access_token}',
    probe: '/meta/whoami',
  },
};

/** A restricted key, which a person makes for what it is to do. */
export const stripe = {
  id: 'stripe',
  name: 'Stripe',
  docs: 'https://docs.stripe.com/keys#create-restricted-api-secret-key',
  auth: 'api_key',
  identity: { url: 'https://api.stripe.com/v1/account', id: 'id', label: 'business_profile.name' },
  api: {
    base_url: 'https://api.stripe.com',
    hosts: ['api.stripe.com', 'files.stripe.com'],
    header: 'Authorization',
    template: 'Bearer {api_key}',
    probe: '/v1/balance',
  },
  fields: [
    {
      name: 'api_key',
      label: 'Restricted key',
      secret: true,
      help: 'Developers → API keys → Create restricted key; it begins with rk_',
    },
  ],
  webhook: 'stripe',
};

export const apiKey = {
  id: 'api_key',
  name: 'Any API with a key',
  docs: 'https://www.rfc-editor.org/rfc/rfc9110#name-authorization',
  auth: 'api_key',
  api: { base_url: '{base_url}', hosts: [], header: '{header}', template: '{prefix}{api_key}' },
  fields: [
    {
      name: 'base_url',
      label: 'Address of the API',
      secret: false,
      help: 'Such as https://api.example.com/v1',
    },
    { name: 'header', label: 'Header', secret: false, default: 'Authorization' },
    { name: 'prefix', label: 'What stands before the key', secret: false, default: 'Bearer ' },
    { name: 'api_key', label: 'Key', secret: true },
  ],
};

export const basic = {
  id: 'basic',
  name: 'Any API with a password',
  docs: 'https://www.rfc-editor.org/rfc/rfc7617',
  auth: 'basic',
  api: { base_url: '{base_url}', hosts: [], header: 'Authorization', template: 'Basic {basic}' },
  fields: [
    {
      name: 'base_url',
      label: 'Address of the API',
      secret: false,
      help: 'Such as https://api.example.com/v1',
    },
    { name: 'username', label: 'User name', secret: false },
    { name: 'password', label: 'Password', secret: true },
  ],
};
