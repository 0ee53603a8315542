import { defineEvent } from '../../../platform/events/index.js';
import type { ConnectionState } from './connections.store.js';

/** A connection became usable, or stopped being so; handlers run in the transaction of it. */
export const connectionChanged = defineEvent<{
  connection_id: string;
  organization_id: string;
  provider: string;
  name: string;
  state: ConnectionState | 'deleted';
}>('connection.changed');

/** A connection may be used in these workspaces, or is used there otherwise; or no more. */
export const connectionGranted = defineEvent<{ workspace_ids: readonly string[] }>('connection.granted');

/** A person has to authorize it again; `revision` is another one each time. */
export const connectionNeedsReauth = defineEvent<{ connection_id: string; revision: string }>(
  'connection.needs_reauth',
);

/** It ends in a week unless a person authorizes it again. */
export const connectionExpiring = defineEvent<{ connection_id: string; ends_at: string }>(
  'connection.expiring',
);
