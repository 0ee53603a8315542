import { defineEvent } from '../../platform/events/events.js';

/** An organization is about to be deleted; its rows are still there. */
export const organizationDeleting = defineEvent<{ organization_id: string }>('organization.deleting');
