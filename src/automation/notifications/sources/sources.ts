import type { TypeName } from '../types/types.js';
import { AGENTS_SOURCES } from './agents-sources.js';
import { AUTOMATION_SOURCES } from './automation-sources.js';
import { CONNECTIONS_SOURCES } from './connections-sources.js';
import { HOSTING_SOURCES } from './hosting-sources.js';
import { IDENTITY_SOURCES } from './identity-sources.js';
import type { NotificationSource } from './notification-source.js';
import { WORKSPACES_SOURCES } from './workspaces-sources.js';

/** What people are notified of, by type: each type has one source. */
export const SOURCES: Readonly<Record<TypeName, NotificationSource>> = {
  ...IDENTITY_SOURCES,
  ...WORKSPACES_SOURCES,
  ...CONNECTIONS_SOURCES,
  ...AGENTS_SOURCES,
  ...HOSTING_SOURCES,
  ...AUTOMATION_SOURCES,
};
