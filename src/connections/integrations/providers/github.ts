const api = {
  base_url: 'https://api.github.com',
  hosts: ['api.github.com', 'uploads.github.com'],
  header: 'Authorization',
  template: 'Bearer {access_token}',
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
};
const git = { hosts: ['github.com'], username: 'x-access-token' };

/** An OAuth app, or the user tokens of a GitHub App: those end and are renewed. */
export const github = {
  id: 'github',
  name: 'GitHub',
  docs: 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
  auth: 'oauth2',
  authorize_url: 'https://github.com/login/oauth/authorize',
  token_url: 'https://github.com/login/oauth/access_token',
  revocation: { url: 'https://api.github.com/applications/{client_id}/grant', style: 'github' },
  scopes_default: ['repo', 'read:user'],
  scopes_available: [
    'repo',
    'public_repo',
    'repo:status',
    'repo_deployment',
    'workflow',
    'gist',
    'notifications',
    'project',
    'read:user',
    'user:email',
    'read:org',
    'write:org',
    'read:project',
    'read:packages',
    'write:packages',
    'admin:repo_hook',
    'write:repo_hook',
    'read:repo_hook',
    'delete_repo',
  ],
  scope_separator: ' ',
  pkce: true,
  client_auth: 'post',
  refresh: { rotates: true, lifetime_days: 183 },
  identity: { url: 'https://api.github.com/user', id: 'id', label: 'login' },
  api: { ...api, probe: '/user' },
  git,
  variables: ['GITHUB_TOKEN', 'GH_TOKEN'],
  webhook: 'github',
};

/** An installation of a GitHub App: tokens for an hour, made with the key of the app. */
export const githubApp = {
  id: 'github_app',
  name: 'GitHub App',
  docs: 'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation',
  auth: 'github_app',
  api: { ...api, probe: '/installation/repositories?per_page=1' },
  git,
  variables: ['GITHUB_TOKEN', 'GH_TOKEN'],
  fields: [
    {
      name: 'app_id',
      label: 'App id or client id',
      secret: false,
      help: 'On the page of the app, under About',
    },
    {
      name: 'installation_id',
      label: 'Installation id',
      secret: false,
      help: 'The number in the address of the installation',
    },
    {
      name: 'private_key',
      label: 'Private key (PEM)',
      secret: true,
      help: 'On the page of the app, under Private keys',
    },
  ],
  webhook: 'github',
};
