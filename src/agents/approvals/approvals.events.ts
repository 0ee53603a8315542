import { defineEvent } from '../../platform/events/index.js';
import { defineTopic } from '../../platform/topics/index.js';

/** An approval is about to be resolved: whoever waits for it takes its locks, in the transaction that will write it. */
export const approvalResolving = defineEvent<{ run_id: string | null }>('approval.resolving');

/** Somebody has decided about an approval, or nobody did in time. Told inside the transaction that writes it down. */
export const approvalResolved = defineEvent<{ approval_id: string }>('approval.resolved');

/** Somebody is asked, and nobody has decided yet. */
export const approvalOpened = defineEvent<{ approval_id: string }>('approval.opened');

/** Nobody has decided in time. */
export const approvalExpired = defineEvent<{ approval_id: string }>('approval.expired');

/** Published when an approval is decided. */
export const approvalTopic = defineTopic('approval');

/** Published when somebody was asked: there is a new deadline. */
export const approvalAsked = defineTopic('approval-asked')();
