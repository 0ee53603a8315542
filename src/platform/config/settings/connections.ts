import { optional } from '#libs/env-settings/index.js';
import { asClients } from './setting.js';

/** Services of others. */
export const connectionsSettings = {
  integrationClients: optional(
    'INTEGRATION_CLIENTS',
    'OAuth clients that all organizations may connect services with, as JSON by the id of the provider: {"github": {"id": "…", "secret": "…"}}. Unset: each organization registers its own.',
    asClients,
  ),
} as const;
