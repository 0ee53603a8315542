import { defineEvent } from '../../platform/events/events.js';

/** A workspace is about to be deleted; its rows are still there. */
export const workspaceDeleting = defineEvent<{ workspace_id: string }>('workspace.deleting');
