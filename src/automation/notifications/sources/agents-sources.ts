import { shortName } from '#libs/plain-text/index.js';
import {
  approvalExpired,
  approvalOpened,
  approvalReminded,
  approvalResolved,
} from '../../../agents/approvals/index.js';
import { loopFinished, type Outcome } from '../../../agents/loops/index.js';
import { questionClosed, questionOpened, questionReminded } from '../../../agents/questions/index.js';
import { runFailed, runFinished } from '../../../agents/runs/index.js';
import { iso } from '../../../platform/database/index.js';
import { settlement, source } from './notification-source.js';
import type { Approval, Question, Run, SourcesStore } from './sources.store.js';

const MAX_TEXT = 500;

const isPending = ({ status }: { status: string }): boolean => status === 'pending';
const endOf = ({ expires_at }: { expires_at: string }): string => iso(expires_at);

/** The person whom the call was asked of is notified: it is their authority that is used. */
const APPROVAL = {
  load: ({ approval_id }: { approval_id: string }, records: SourcesStore) => records.approval(approval_id),
  recipients: ({ requested_by }: Approval) => ({ people: [requested_by] }),
  link: ({ link }: Approval) => link,
  data: ({ id, run_id }: Approval): Record<string, string> =>
    run_id ? { approval_id: id, run_id } : { approval_id: id },
  chain: ({ chain }: Approval) => chain,
};

const reminderId = (approvalId: string, reminder: number): string => `${approvalId}:${reminder}`;

/** The person for whom the run works is notified. */
const QUESTION = {
  load: ({ question_id }: { question_id: string }, records: SourcesStore) => records.question(question_id),
  stillTrue: isPending,
  recipients: ({ asked_of }: Question) => ({ people: [asked_of] }),
  about: ({ id }: Question) => id,
  link: ({ link }: Question) => link,
  data: ({ id, run_id, chat_id }: Question) => ({ question_id: id, run_id, chat_id }),
  expires_at: endOf,
  chain: ({ chain }: Question) => chain,
  settledBy: [settlement(questionClosed, ({ question_id }) => question_id)],
};

const chatOf = ({ chat }: Question): string => (chat === undefined ? '' : ` in “${shortName(chat)}”`);

/** The person who started the run is notified. Runs of tasks, loops and automations are reported as such. */
const RUN = {
  load: ({ run_id }: { run_id: string }, records: SourcesStore) => records.run(run_id),
  stillTrue: ({ parent_id, loop_id, deployment_id }: Run) => !parent_id && !loop_id && !deployment_id,
  recipients: ({ created_by }: Run) => ({ people: [created_by] }),
  about: ({ id }: Run) => id,
  data: ({ id, chat_id }: Run) => ({ call_id: id, chat_id }),
  chain: ({ actor }: Run) => actor.chain,
};

const ANSWERED = 'Its answer is in the chat.';

const OUTCOMES: Record<Outcome, string> = {
  satisfied: 'is satisfied',
  exhausted: 'has had all its iterations',
  budget: 'has spent its budget',
  stalled: 'makes no progress any more',
  blocked: 'needs a person',
  stopped: 'was stopped',
  error: 'cannot go on',
};

/** Approvals, questions, runs that no client watched, and loops. */
export const AGENTS_SOURCES = {
  'approval.requested': source({
    ...APPROVAL,
    on: approvalOpened,
    stillTrue: isPending,
    about: ({ id }) => id,
    title: ({ client_name, tool }) => `${client_name ?? 'An agent'} asks to call ${tool}`,
    body: row => `${row.summary}. It waits for your decision until ${endOf(row)}.`,
    expires_at: endOf,
    settledBy: [settlement(approvalResolved, ({ approval_id }) => approval_id)],
  }),
  'approval.reminded': source({
    ...APPROVAL,
    on: approvalReminded,
    stillTrue: isPending,
    about: ({ id }, { reminder }) => reminderId(id, reminder),
    title: ({ tool }) => `${tool} still waits for your decision`,
    body: row => `${row.summary}. At ${endOf(row)} its time is over, and the run fails.`,
    expires_at: endOf,
    settledBy: [1, 2].map(reminder =>
      settlement(approvalResolved, ({ approval_id }) => reminderId(approval_id, reminder)),
    ),
  }),
  'approval.expired': source({
    ...APPROVAL,
    on: approvalExpired,
    about: ({ id }) => id,
    title: ({ tool }) => `No one decided about ${tool}`,
    body: () => 'The time for the approval is over, so the call was not made.',
  }),

  'run.question': source({
    ...QUESTION,
    on: questionOpened,
    title: row => `An agent asks you something${chatOf(row)}`,
    body: row => `${shortName(row.question, MAX_TEXT)} It waits for your answer until ${endOf(row)}.`,
  }),
  'run.question_reminded': source({
    ...QUESTION,
    on: questionReminded,
    title: row => `An agent still waits for your answer${chatOf(row)}`,
    body: row =>
      `${shortName(row.question, MAX_TEXT)} At ${endOf(row)} its time is over, and the agent decides itself.`,
  }),

  'run.failed': source({
    ...RUN,
    on: runFailed,
    title: ({ title }) => `A run failed in “${shortName(title)}”`,
    body: ({ error }) => (error ? shortName(error.message, MAX_TEXT) : ANSWERED),
  }),
  'run.finished': source({
    ...RUN,
    on: runFinished,
    title: ({ title }) => `A run finished in “${shortName(title)}”`,
    body: () => ANSWERED,
  }),
  'loop.finished': source({
    on: loopFinished,
    load: ({ loop_id }, records) => records.finishedLoop(loop_id),
    recipients: ({ actor }) => ({ people: [actor.id] }),
    about: ({ iteration }, { loop_id }) => `${loop_id}/${iteration}`,
    title: ({ title, outcome }) => `The loop “${shortName(title ?? 'without a chat')}” ${OUTCOMES[outcome]}`,
    body: ({ reason }) => shortName(reason ?? '', MAX_TEXT),
    data: ({ chat_id, outcome }, { loop_id }) => ({ loop_id, chat_id, outcome }),
    chain: ({ actor }) => actor.chain,
  }),
};
