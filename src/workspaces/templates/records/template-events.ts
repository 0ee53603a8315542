import { defineEvent } from '../../../platform/events/index.js';

export const templatePublished = defineEvent<{ version_id: string }>('template.published');
/** A version has findings that are not acknowledged. */
export const templateBlocked = defineEvent<{ version_id: string }>('template.blocked');
/** A publication ended without a version. */
export const templateFailed = defineEvent<{ operation_id: string }>('template.failed');
