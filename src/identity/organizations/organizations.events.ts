import { defineEvent } from '../../platform/events/index.js';

/** An organization is about to be deleted; its rows are still there. */
export const organizationDeleting = defineEvent<{ organization_id: string }>('organization.deleting');

/** An organization is being made, with its owner. */
export const organizationFounded = defineEvent<{ organization_id: string }>('organization.founded');

/** A person has left an organization, or was removed from it. */
export const memberRemoved = defineEvent<{ organization_id: string; principal_id: string }>('member.removed');
