import {
  asChoice,
  asInteger,
  asNames,
  asOrigins,
  asText,
  asUsd,
  InvalidSetting,
  optional,
  setting,
} from '#libs/env-settings/index.js';

/** Who may have accounts and organizations, how they sign in, and how they are mailed to. */
export const accountsSettings = {
  registration: setting(
    'REGISTRATION',
    'Who gets an account after the first: invite (those who are invited), open (all), closed (nobody, also not by invitation).',
    asChoice(['invite', 'open', 'closed']),
    'invite',
  ),
  organizationCreation: setting(
    'ORGANIZATION_CREATION',
    'Who may create organizations: owners (of the installation) or anyone. With open registration, each new account gets one all the same.',
    asChoice(['owners', 'anyone']),
    'owners',
  ),
  organizationBudgetUsd: optional(
    'ORGANIZATION_MONTHLY_BUDGET_USD',
    'Monthly budget, with a hard stop, of each organization that has none of its own; only owners of the installation may set more. Unset: none.',
    asUsd,
  ),
  organizationModels: setting(
    'ORGANIZATION_MODELS',
    'Models of organizations whose admins have decided nothing yet, separated by commas, e.g. anthropic/claude-haiku-4-5. Unset: all.',
    asNames,
    [] as string[],
  ),
  mcpAllowedOrigins: setting(
    'MCP_ALLOWED_ORIGINS',
    'Origins of other sites whose pages may call /mcp, separated by commas, e.g. https://app.example.com.',
    asOrigins,
    [] as string[],
  ),
  mcpWaitSeconds: setting(
    'MCP_WAIT_SECONDS',
    'Longest that a call over MCP waits for a run or a decision before it answers how things stand; clients give up on a call after 60 seconds, proxies perhaps sooner.',
    asInteger(1, 55),
    45,
  ),
  accessTokenSeconds: setting('ACCESS_TOKEN_SECONDS', 'Life of an access token.', asInteger(30, 86400), 900),
  refreshTokenSeconds: setting(
    'REFRESH_TOKEN_SECONDS',
    'Life of a refresh token; a session unused for longer ends.',
    asInteger(60, 31536000),
    2592000,
  ),
  smtpUrl: optional(
    'SMTP_URL',
    'Server for outgoing mail, e.g. smtps://user:password@mail.example.com. Unset: no mail is sent.',
    (raw, name) => {
      if (!URL.canParse(raw) || !/^smtps?:$/.test(new URL(raw).protocol))
        throw new InvalidSetting(`${name} must be an address that begins with smtp:// or smtps://.`);
      return raw;
    },
  ),
  mailFrom: optional(
    'MAIL_FROM',
    'Sender of outgoing mail, e.g. Atelier <atelier@example.com>. Unset: no-reply at the host of PUBLIC_URL.',
    asText,
  ),
} as const;
