import { ById, Field, LINE, PageInput, PageOf } from '../../platform/dto/index.js';
import { MODEL } from '../models/index.js';
import { PlanView } from '../plans/index.js';
import { AGENT_NAME } from '../subagents/index.js';
import { ContextView } from './context-use.js';

export const TITLE = { ...LINE, max: 500, example: 'Plan the launch' };
export const RUN_STATUSES = ['pending', 'completed', 'error'] as const;

export class CreateChat {
  @Field.text('Title; absent: New Chat until the first message, then its first line', {
    ...TITLE,
    optional: true,
    shown: true,
  })
  title?: string;

  @Field.id(
    "The organization it belongs to; absent: its workspace's, the credential's, else the caller's first",
    { optional: true },
  )
  organization_id?: string;

  @Field.id('A UUID of yours under which it is made', { optional: true }) chat_id?: string;

  @Field.id('The workspace it works in; required with agent_name', { optional: true, shown: true })
  workspace_id?: string;

  @Field.text(
    "A subagent of the workspace's .agents/ folder, which then answers instead of the default assistant",
    {
      ...AGENT_NAME,
      optional: true,
    },
  )
  agent_name?: string;

  @Field.text('Model of its runs; absent: the default', { ...MODEL, optional: true }) model?: string;
}

export class ListChats extends PageInput {
  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;
  @Field.id('Only those of this organization', { optional: true }) organization_id?: string;
  @Field.boolean('Only archived ones, or only others', { optional: true, example: false }) archived?: boolean;
  @Field.boolean('Only pinned ones, or only others', { optional: true, example: false }) pinned?: boolean;

  @Field.text('Only those whose title holds this', { optional: true, max: 200, example: 'launch' })
  q?: string;
}

export class UpdateChat extends ById({ id: 'The chat' }) {
  @Field.text('Its new title', { ...TITLE, min: 1, optional: true, shown: true }) title?: string;
  @Field.boolean('Keep it on top', { optional: true }) pinned?: boolean;
  @Field.boolean('Put it away', { optional: true }) archived?: boolean;

  @Field.text('Model of its runs from now on; null: the default', {
    ...MODEL,
    optional: true,
    nullable: true,
  })
  model?: string | null;
}

export class ChatRunView {
  @Field.id('The run') call_id: string;
  @Field.choice('Whether it is in flight', RUN_STATUSES) status: string;
}

export class ChatView {
  @Field.id('The chat') id: string;
  @Field.text('Its title', TITLE) title: string;
  @Field.id('The organization it belongs to') organization_id: string;
  @Field.id('The workspace it works in', { nullable: true }) workspace_id: string | null;
  @Field.text('The subagent that answers', { ...AGENT_NAME, nullable: true }) agent_name: string | null;
  @Field.text('Model of its runs; null: the default', { ...MODEL, nullable: true }) model: string | null;
  @Field.boolean('Kept on top') pinned: boolean;
  @Field.boolean('Put away') archived: boolean;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
  @Field.time('Its newest message', { nullable: true }) last_message_at: string | null;
  @Field.object('Its newest run', () => ChatRunView, { nullable: true }) run: ChatRunView | null;

  @Field.object('What its agent means to do, as last set; only where one chat is read', () => PlanView, {
    optional: true,
    nullable: true,
  })
  plan?: PlanView | null;

  @Field.object(
    'How full the context of its agent is, after the newest step; null: there was none. Only where one chat is read',
    () => ContextView,
    { optional: true, nullable: true },
  )
  context?: ContextView | null;

  @Field.id('The run that handed over the task for which the chat is; absent for a chat of people', {
    optional: true,
  })
  parent_call_id?: string;
}

export const ChatPage = PageOf(ChatView, 'ChatPage');

export class MessageToolCallView {
  @Field.text('The call', { example: 'call_1' }) id: string;
  @Field.text('The tool', { example: 'read_file' }) tool: string;
  @Field.json('What it was called with', { example: { path: 'notes/plan.md' } }) input: unknown;

  @Field.text('What it gave back; null: not finished', { nullable: true, example: '# Plan' })
  output: string | null;

  @Field.boolean('Whether it failed', { example: false }) is_error: boolean;
}

export class AttachmentView {
  @Field.text('Where it was in the workspace when the message was sent', {
    max: 4096,
    example: 'notes/plan.pdf',
  })
  path: string;

  @Field.text('What it is', { example: 'application/pdf' }) media_type: string;
  @Field.integer('Its bytes', { example: 48213 }) size: number;
}

export class MessageView {
  @Field.id('The message') id: string;
  @Field.choice('Who wrote it', ['user', 'assistant']) role: string;
  @Field.text('Its text', { max: 1_000_000, example: 'run date' }) text: string;

  @Field.text("The model's reasoning, where it shows any", { max: 1_000_000, nullable: true })
  reasoning: string | null;

  @Field.object('Files that came with it', () => AttachmentView, { list: true })
  attachments: AttachmentView[];

  @Field.object('Tools that this answer called', () => MessageToolCallView, { list: true })
  tool_calls: MessageToolCallView[];

  @Field.id('The run that it started, or that wrote it', { nullable: true }) call_id: string | null;
  @Field.time('When it was written') created_at: string;
}

export const MessagePage = PageOf(MessageView, 'MessagePage');
