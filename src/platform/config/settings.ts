import { accountsSettings } from './settings/accounts.js';
import { filesSettings } from './settings/files.js';
import { modelsSettings } from './settings/models.js';
import { runsSettings } from './settings/runs.js';
import { sandboxesSettings } from './settings/sandboxes.js';
import { serviceSettings } from './settings/service.js';
import { trafficSettings } from './settings/traffic.js';

/** Every environment variable the service reads, in the order `.env.example` lists them. */
export const settings = {
  ...serviceSettings,
  ...accountsSettings,
  ...filesSettings,
  ...sandboxesSettings,
  ...runsSettings,
  ...modelsSettings,
  ...trafficSettings,
} as const;
