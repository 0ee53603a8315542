import { EFFECTS, WORKSPACE_ROLES } from '../../platform/access/index.js';
import { VERDICTS, type Verdict } from '../../platform/actions/index.js';
import { ById, Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import { APPROVAL_SCOPES, APPROVAL_STATUSES, APPROVAL_SUBJECTS } from './approval.js';
import { EXPOSE_VERDICTS, type ExposeVerdict } from './approval-policies.store.js';

const POLICY_TEXT = 'auto: done at once, ask: a person is asked, deny: refused';

export class ListApprovals extends PageInput {
  @Field.id('Only those of this chat', { optional: true }) chat_id?: string;

  @Field.id('Only those of this workspace; with neither, those of calls on your own authority', {
    optional: true,
  })
  workspace_id?: string;

  @Field.choice('Only those that stand so', APPROVAL_STATUSES, { optional: true, example: 'pending' })
  status?: (typeof APPROVAL_STATUSES)[number];
}

export class DecideApproval extends ById({ approval_id: 'The approval' }) {
  @Field.choice('Whether the call may be made', ['allow', 'deny']) decision: 'allow' | 'deny';

  @Field.choice(
    'What is allowed: this call, or this tool until the run ends; what exposes is allowed once',
    APPROVAL_SCOPES,
    { optional: true, default: 'once' },
  )
  scope?: (typeof APPROVAL_SCOPES)[number];

  @Field.text('What the model is told when the call is denied', {
    max: 10_000,
    optional: true,
    example: 'Keep the folder; archive it instead',
  })
  note?: string;
}

/** Who may decide about an approval. */
export class ApprovalDecidersView {
  @Field.choice('The roles in its workspace that may; none where one person decides', WORKSPACE_ROLES, {
    list: true,
    example: ['admin', 'editor'],
  })
  workspace_roles: string[];

  @Field.id('The one person who may, or the service account whose managers may; null where roles do', {
    nullable: true,
  })
  person_id: string | null;
}

class AskedView {
  @Field.text('The tool, or the action', { example: 'file_delete' }) tool: string;
  @Field.choice('What it does to the world', EFFECTS, { example: 'destructive' }) effect: string;
  @Field.text('What is to be done, in words', { example: 'Delete a file or folder' }) summary: string;
  @Field.object('Who may decide', () => ApprovalDecidersView) deciders: ApprovalDecidersView;

  @Field.text('The page on which a person decides', {
    example: 'https://atelier.example/approvals/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  link: string;

  @Field.time('Until when it can be decided') expires_at: string;
}

/** A call for which a run waits until a person has decided about it. */
export class WaitingForView extends AskedView {
  @Field.id('The approval') approval_id: string;
  @Field.id('The run that asks: the one that waits, or a task of it') call_id: string;
}

export class ApprovalView extends AskedView {
  @Field.id('The approval') id: string;

  @Field.choice('What is to be approved: a tool call of a run, or a call of an MCP client', APPROVAL_SUBJECTS)
  subject: string;

  @Field.choice('How it stands', APPROVAL_STATUSES) status: string;
  @Field.id('Its workspace', { nullable: true }) workspace_id: string | null;
  @Field.id('Its chat', { nullable: true }) chat_id: string | null;
  @Field.id('The run that waits for it', { nullable: true }) call_id: string | null;

  @Field.text("The model's id of the call", { nullable: true, example: 'call_1' })
  tool_call_id: string | null;

  @Field.text('What a person should know before they allow it; null where it is what the tool says', {
    nullable: true,
    example: 'Whoever has the link can then reach the file or folder, without an account.',
  })
  consequence: string | null;

  @Field.json('What it is called with, without secrets', { example: { path: 'old' } }) input: unknown;
  @Field.id('On whose authority the call is made') requested_by: string;
  @Field.choice('What was allowed', APPROVAL_SCOPES, { nullable: true }) scope: string | null;
  @Field.text('What whoever decided had to say', { nullable: true, example: 'Go ahead' }) note: string | null;
  @Field.id('Who decided', { nullable: true }) decided_by: string | null;
  @Field.time('When it was decided', { nullable: true }) decided_at: string | null;
  @Field.time('When it was asked for') created_at: string;
}

export const ApprovalPage = PageOf(ApprovalView, 'ApprovalPage');

export class UpdateApprovalPolicy extends WorkspaceId {
  @Field.choice(`What only reads. ${POLICY_TEXT}`, VERDICTS, { optional: true, example: 'auto' })
  read?: Verdict;

  @Field.choice(`What changes something, bash included. ${POLICY_TEXT}`, VERDICTS, {
    optional: true,
    shown: true,
    example: 'ask',
  })
  write?: Verdict;

  @Field.choice(`What destroys. ${POLICY_TEXT}`, VERDICTS, { optional: true, example: 'ask' })
  destructive?: Verdict;

  @Field.choice(
    'What opens something to others, grants rights or loosens a guard. ask: a person is asked each time, deny: refused',
    EXPOSE_VERDICTS,
    { optional: true, example: 'ask' },
  )
  expose?: ExposeVerdict;

  @Field.integer('Seconds for which a question stands; then its run ends with the error approval_expired', {
    min: 1,
    max: 2_592_000,
    optional: true,
    example: 3600,
  })
  deadline_seconds?: number;
}

export class ApprovalPolicyView extends WorkspaceId {
  @Field.choice('What only reads', VERDICTS) read: string;
  @Field.choice('What changes something, bash included', VERDICTS) write: string;
  @Field.choice('What destroys', VERDICTS) destructive: string;

  @Field.choice('What opens something to others, grants rights or loosens a guard', EXPOSE_VERDICTS)
  expose: string;

  @Field.integer('Seconds for which a question stands', { example: 3600 }) deadline_seconds: number;

  @Field.boolean(
    'Nobody has set it: then agents do without asking what their own file names in full, and runs that a program started are refused what would have to be asked for',
    { example: true },
  )
  is_default: boolean;
}
