import { defineEvent } from '../../platform/events/index.js';
import { defineTopic } from '../../platform/topics/index.js';

/** An approval is about to be resolved: what waits for it takes its locks, in the transaction that will write it. */
export const approvalResolving = defineEvent<{ run_id: string | null }>('approval.resolving');

/** An approval was decided, or expired. Published inside the transaction that writes it. */
export const approvalResolved = defineEvent<{ approval_id: string }>('approval.resolved');

/** A person is asked, and no decision was made yet. */
export const approvalOpened = defineEvent<{ approval_id: string }>('approval.opened');

/** A decision is waited for still: the first or the second reminder. */
export const approvalReminded = defineEvent<{ approval_id: string; reminder: number }>('approval.reminded');

/** No decision was made in time. */
export const approvalExpired = defineEvent<{ approval_id: string }>('approval.expired');

/** Published when an approval is decided. */
export const approvalTopic = defineTopic('approval');

/** Published when a person is asked: there is a new deadline. */
export const approvalAsked = defineTopic('approval-asked')();
