import { defineEvent } from '../../platform/events/index.js';
import { defineTopic } from '../../platform/topics/index.js';

/** A question is about to be closed: what waits for it takes its locks, in the transaction that will write it. */
export const questionClosing = defineEvent<{ run_id: string }>('question.closing');

/** A question was answered, or expired. Published inside the transaction that writes it. */
export const questionClosed = defineEvent<{ question_id: string }>('question.closed');

/** A person is asked. */
export const questionOpened = defineEvent<{ question_id: string }>('question.opened');

/** An answer is waited for still. */
export const questionReminded = defineEvent<{ question_id: string }>('question.reminded');

/** Published when a person is asked: there is a new deadline. */
export const questionAsked = defineTopic('question-asked')();
