import { Field } from '../../platform/dto/index.js';
import { WaitingForView } from '../approvals/approvals.dto.js';
import { AGENT_NAME, MODEL, RUN_STATUSES, TITLE } from '../chats/chats.dto.js';

export const DELIVERIES = ['queue', 'steer', 'interrupt', 'reject'] as const;
export const ON_APPROVAL = ['wait', 'refuse', 'fail'] as const;
export const RUN_STATES = ['queued', 'running', 'waiting', 'stopping', 'done'] as const;

export class RunBudgetInput {
  @Field.number('Most to spend, in USD; the run ends before its next model call, with stop_reason max_cost', {
    min: 0,
    optional: true,
    example: 0.5,
  })
  cost_usd?: number;

  @Field.integer('Most model calls, within RUN_MAX_STEPS; it ends with stop_reason max_steps', {
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

  @Field.id('Workspace of a new chat', { optional: true, shown: true })
  workspace_id?: string;

  @Field.id('Organization of a new chat', { optional: true })
  organization_id?: string;

  @Field.text("Subagent of a new chat, of the workspace's .agents/ folder", { ...AGENT_NAME, optional: true })
  agent_name?: string;

  @Field.text('Title of a new chat', { ...TITLE, optional: true })
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

  @Field.object('Limits of this run', () => RunBudgetInput, { optional: true })
  budget?: RunBudgetInput;
}

export class SentView {
  @Field.id('The run')
  call_id: string;

  @Field.id('The chat')
  chat_id: string;

  @Field.id('The message')
  message_id: string;

  @Field.choice('Always pending', ['pending'])
  status: string;

  @Field.choice('How it was delivered', DELIVERIES)
  delivery: string;

  @Field.integer('How many runs of the chat come first', { example: 0 })
  queue_position: number;

  @Field.id('The run in flight that it is to enter, where it steers one', { optional: true })
  into_call_id?: string;
}

export class RunStatusInput {
  @Field.id('The run')
  call_id: string;

  @Field.id('The chat it belongs to', { optional: true })
  chat_id?: string;

  @Field.integer('Seconds to wait for its end', { min: 0, max: 60, optional: true, default: 0, example: 30 })
  wait?: number;
}

export class RunEventsInput {
  @Field.id('The run')
  call_id: string;

  @Field.integer('Only events after this number; instead of Last-Event-ID', {
    min: 0,
    optional: true,
    example: 0,
  })
  after?: number;
}

export class ChatEventsInput {
  @Field.id('The chat')
  id: string;

  @Field.integer('Only events after this number; instead of Last-Event-ID', {
    min: 0,
    optional: true,
    example: 0,
  })
  after?: number;
}

export class UsageView {
  @Field.integer('Tokens that went in', { nullable: true, example: 812 })
  input_tokens: number | null;

  @Field.integer('Tokens that came out', { nullable: true, example: 96 })
  output_tokens: number | null;

  @Field.integer('Of those that went in, read from the cache', { nullable: true, example: 0 })
  cache_read_tokens: number | null;

  @Field.integer('Of those that went in, written to the cache', { nullable: true, example: 0 })
  cache_write_tokens: number | null;

  @Field.integer('Of those that came out, reasoning', { nullable: true, example: 0 })
  reasoning_tokens: number | null;
}

export class RunFaultView {
  @Field.text('What went wrong', { example: 'The model provider refused the API key' })
  message: string;

  @Field.text('Kind of fault', { example: 'model_auth' })
  type: string;
}

export class ToolOutputView {
  @Field.text("The model's id of the call", { example: 'call_1' })
  id: string;

  @Field.text('The tool', { example: 'bash' })
  tool: string;

  @Field.json('What it was called with', { example: { command: 'date' } })
  input: unknown;

  @Field.text('What it gave back; null: not finished', {
    nullable: true,
    max: 1_000_000,
    example: 'Sat Nov 21 09:30:00 UTC 2026',
  })
  output: string | null;

  @Field.boolean('Whether it failed', { example: false })
  is_error: boolean;

  @Field.integer('How long it took, in milliseconds', { nullable: true, example: 24 })
  duration_ms: number | null;
}

export class RunResultView {
  @Field.text('What the agent answered', { max: 1_000_000, example: 'It is Saturday.' })
  response: string;

  @Field.json('The answer as JSON, valid against response_schema, where the message had one', {
    optional: true,
    example: { day: 'Saturday' },
  })
  json?: unknown;

  @Field.object('What the tools gave back, in order', () => ToolOutputView, { list: true })
  toolOutputs: ToolOutputView[];
}

export class InjectedView {
  @Field.id('The run')
  call_id: string;

  @Field.integer('The step of it before which the message came', { example: 3 })
  step: number;
}

export class RunStatusView {
  @Field.id('The run')
  call_id: string;

  @Field.id('The chat')
  chat_id: string;

  @Field.choice('Whether it is in flight', RUN_STATUSES)
  status: string;

  @Field.choice('Where exactly it is', RUN_STATES)
  state: string;

  @Field.object(
    'The calls, its own and those of its tasks, that somebody has to decide about before it goes on; null where it waits for none',
    () => WaitingForView,
    { list: true, nullable: true },
  )
  waiting_for: WaitingForView[] | null;

  @Field.text('Why it ended', { nullable: true, example: 'end_turn' })
  stop_reason: string | null;

  @Field.object('What went wrong, when status is error', () => RunFaultView, { nullable: true })
  error: RunFaultView | null;

  @Field.object(
    'What came out, once it has ended; of one that failed, what there was by then',
    () => RunResultView,
    { optional: true },
  )
  result?: RunResultView;

  @Field.object(
    'The run that its message has entered, with which it ends and which has its steps and its cost',
    () => InjectedView,
    { nullable: true },
  )
  injected_into: InjectedView | null;

  @Field.text('The model asked for', MODEL)
  model: string;

  @Field.object('Tokens so far', () => UsageView)
  usage: UsageView;

  @Field.number('Cost so far in USD; null: a price is not known', { nullable: true, example: 0.0021 })
  cost_usd: number | null;

  @Field.time('When it was accepted')
  created_at: string;

  @Field.time('When a worker took it up', { nullable: true })
  started_at: string | null;

  @Field.time('When it ended', { nullable: true })
  finished_at: string | null;
}
