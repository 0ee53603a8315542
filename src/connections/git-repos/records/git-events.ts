import { defineEvent } from '../../../platform/events/index.js';

/** A repository was cloned. */
export const gitCloned = defineEvent<{ operation_id: string }>('git.cloned');
/** A repository was not cloned. */
export const gitCloneFailed = defineEvent<{ operation_id: string }>('git.clone_failed');
