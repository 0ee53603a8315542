import { ById, Field, PageOf } from '../../platform/dto/index.js';
import { TITLE } from '../chats/index.js';
import { MODEL } from '../models/index.js';
import { AGENT_NAME } from '../subagents/index.js';

export const DELIVERIES = ['queue', 'steer', 'interrupt', 'reject'] as const;
export const ON_APPROVAL = ['wait', 'refuse', 'fail'] as const;

export class RunBudgetInput {
  @Field.number('Most to spend, in USD; the run ends before its next model call, with stop_reason max_cost', {
    min: 0,
    optional: true,
    example: 0.5,
  })
  cost_usd?: number;

  @Field.integer('Most model calls, within those of RUN_LIMITS; it ends with stop_reason max_steps', {
    min: 1,
    max: 10_000,
    optional: true,
    example: 20,
  })
  max_steps?: number;

  @Field.integer('Seconds from its start after which it is cut off, with stop_reason max_seconds', {
    min: 1,
    max: 604_800,
    optional: true,
    example: 600,
  })
  max_seconds?: number;
}

export class SendMessage {
  @Field.text('What the agent is to do', {
    min: 1,
    max: 1_000_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'run date',
  })
  message: string;

  @Field.id('The chat; one that does not exist is made under this id; absent: a new chat', { optional: true })
  chat_id?: string;

  @Field.id('Workspace of a new chat', { optional: true, shown: true }) workspace_id?: string;
  @Field.id('Organization of a new chat', { optional: true }) organization_id?: string;

  @Field.text("Subagent of a new chat, of the workspace's .agents/ folder", { ...AGENT_NAME, optional: true })
  agent_name?: string;

  @Field.text('Title of a new chat; absent: the first line of the message', { ...TITLE, optional: true })
  title?: string;

  @Field.text("Model of this run; absent: the chat's, else the default", { ...MODEL, optional: true })
  model?: string;

  @Field.text(
    "Models that are asked, in this order, when that one is overloaded, out of reach or out of credit; absent: the organization's",
    { ...MODEL, list: true, maxItems: 5, optional: true, example: ['atelier/demo'] },
  )
  fallback_models?: string[];

  @Field.choice(
    'When a run is in flight: queue (a run of its own after it), steer (enters it at its next step), interrupt (stops it, keeps what it did, and runs at once) or reject (409)',
    DELIVERIES,
    { optional: true, default: 'queue' },
  )
  delivery?: (typeof DELIVERIES)[number];

  @Field.choice(
    'When a call needs an approval: wait for it, refuse the call and go on, or fail at once with the error approval_required; absent: wait, but refuse where a program started the run in a workspace whose policy nobody has set',
    ON_APPROVAL,
    { optional: true, example: 'wait' },
  )
  on_approval?: (typeof ON_APPROVAL)[number];

  @Field.text(
    'Files of the workspace to go with the message, as they are now: text, and images (PNG, JPEG, GIF, WebP) and PDFs for models that take them',
    { min: 1, max: 4096, list: true, maxItems: 20, optional: true, example: ['notes/plan.md'] },
  )
  attachments?: string[];

  @Field.json(
    'JSON Schema (2020-12 or draft-07) of the answer, which is then found in result.json; patterns in RE2 syntax, no $ref to elsewhere',
    {
      optional: true,
      example: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
    },
  )
  response_schema?: unknown;

  @Field.object('Limits of this run', () => RunBudgetInput, { optional: true }) budget?: RunBudgetInput;
}

export class SentView {
  @Field.id('The run') call_id: string;
  @Field.id('The chat') chat_id: string;
  @Field.id('The message') message_id: string;
  @Field.choice('Always pending', ['pending']) status: string;
  @Field.choice('How it was delivered', DELIVERIES) delivery: string;
  @Field.integer('How many runs of the chat come first', { example: 0 }) queue_position: number;

  @Field.id('The run in flight that it is to enter, where it steers one', { optional: true })
  into_call_id?: string;
}

export class EditQueuedMessage extends ById({ message_id: 'The message' }) {
  @Field.text('Its new text', {
    min: 1,
    max: 1_000_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    optional: true,
    shown: true,
    example: 'run date',
  })
  message?: string;

  @Field.integer('Its new place: how many runs of the chat are to come first; 1 is next', {
    min: 1,
    max: 100_000,
    optional: true,
    example: 1,
  })
  position?: number;
}

export class QueuedMessageView {
  @Field.id('The message') message_id: string;
  @Field.id('Its run') call_id: string;
  @Field.id('Its chat') chat_id: string;
  @Field.text('Its text', { max: 1_000_000, example: 'run date' }) message: string;

  @Field.choice('How it is delivered; steer: it enters the run in flight at its next step', DELIVERIES)
  delivery: string;

  @Field.integer('How many runs of the chat come first; 0: it is about to begin', { example: 1 })
  position: number;

  @Field.time('When it was accepted') created_at: string;
}

export const QueuedMessagePage = PageOf(QueuedMessageView, 'QueuedMessagePage');

export class WithdrawnView {
  @Field.id('The message') message_id: string;
  @Field.boolean('Always true') withdrawn: boolean;
}
