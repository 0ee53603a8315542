import { defineEvent } from '../../platform/events/index.js';

/** A person has left an organization, or was removed from it. */
export const memberRemoved = defineEvent<{ organization_id: string; principal_id: string }>('member.removed');
