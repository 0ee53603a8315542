import { ById, Field } from '../../platform/dto/index.js';
import { WaitingForView } from '../approvals/index.js';
import { ContextView, RUN_STATUSES } from '../chats/index.js';
import { MODEL } from '../models/index.js';
import { PlanView } from '../plans/index.js';
import { OpenQuestionView } from '../questions/index.js';
import { RUN_STATES } from './run-state.js';

export class RunStatusInput extends ById({ call_id: 'The run' }) {
  @Field.id('The chat it belongs to', { optional: true }) chat_id?: string;

  @Field.integer('Seconds to wait for its end', { min: 0, max: 60, optional: true, default: 0, example: 30 })
  wait?: number;
}

const AFTER = { min: 0, optional: true, example: 0 };

export class RunEventsInput extends ById({ call_id: 'The run' }) {
  @Field.integer('Only events after this number; instead of Last-Event-ID', AFTER) after?: number;
}

export class ChatEventsInput {
  @Field.id('The chat') id: string;
  @Field.integer('Only events after this number; instead of Last-Event-ID', AFTER) after?: number;
}

export class UsageView {
  @Field.integer('Tokens that went in', { nullable: true, example: 812 }) input_tokens: number | null;
  @Field.integer('Tokens that came out', { nullable: true, example: 96 }) output_tokens: number | null;

  @Field.integer('Of those that went in, read from the cache', { nullable: true, example: 0 })
  cache_read_tokens: number | null;

  @Field.integer('Of those that went in, written to the cache', { nullable: true, example: 0 })
  cache_write_tokens: number | null;

  @Field.integer('Of those that came out, reasoning', { nullable: true, example: 0 })
  reasoning_tokens: number | null;
}

export class RunFaultView {
  @Field.text('What went wrong', { example: 'The model provider refused the API key' }) message: string;
  @Field.text('Kind of fault', { example: 'model_auth' }) type: string;
}

export class ToolOutputView {
  @Field.text("The model's id of the call", { example: 'call_1' }) id: string;
  @Field.text('The tool', { example: 'bash' }) tool: string;
  @Field.json('What it was called with', { example: { command: 'date' } }) input: unknown;

  @Field.text('What it gave back; null: not finished', {
    nullable: true,
    max: 1_000_000,
    example: 'Sat Nov 21 09:30:00 UTC 2026',
  })
  output: string | null;

  @Field.boolean('Whether it failed', { example: false }) is_error: boolean;

  @Field.integer('How long it took, in milliseconds', { nullable: true, example: 24 })
  duration_ms: number | null;
}

export class RunResultView {
  @Field.text('What the agent answered', { max: 1_000_000, example: 'It is Saturday.' }) response: string;

  @Field.json('The answer as JSON, valid against response_schema, where the message had one', {
    optional: true,
    example: { day: 'Saturday' },
  })
  json?: unknown;

  @Field.object('What the tools gave back, in order', () => ToolOutputView, { list: true })
  toolOutputs: ToolOutputView[];
}

export class InjectedView {
  @Field.id('The run') call_id: string;
  @Field.integer('The step of it before which the message came', { example: 3 }) step: number;
}

/** What is shown of every run. */
export class RunHeadView {
  @Field.id('The run') call_id: string;
  @Field.id('Its chat') chat_id: string;
  @Field.choice('Whether it is in flight', RUN_STATUSES) status: string;
  @Field.choice('Where exactly it is', RUN_STATES) state: string;
  @Field.text('Why it ended', { nullable: true, example: 'end_turn' }) stop_reason: string | null;
  @Field.text('The model asked for', MODEL) model: string;

  @Field.number('Cost so far in USD, without its tasks; null: a price is not known', {
    nullable: true,
    example: 0.0021,
  })
  cost_usd: number | null;

  @Field.time('When it was accepted') created_at: string;
  @Field.time('When it ended', { nullable: true }) finished_at: string | null;
}

export class RunStatusView extends RunHeadView {
  @Field.object(
    'The calls, its own and those of its tasks, that somebody has to decide about before it goes on; null where it waits for none',
    () => WaitingForView,
    { list: true, nullable: true },
  )
  waiting_for: WaitingForView[] | null;

  @Field.object(
    'What it asks, and what its tasks ask, before it goes on; null where it asks nothing',
    () => OpenQuestionView,
    { list: true, nullable: true },
  )
  questions: OpenQuestionView[] | null;

  @Field.object('What it means to do, and how far it is, as it last said; null: it has not', () => PlanView, {
    nullable: true,
  })
  plan: PlanView | null;

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

  @Field.object('Tokens so far', () => UsageView) usage: UsageView;

  @Field.object('How full its context is, after its newest step; null: it had none', () => ContextView, {
    nullable: true,
  })
  context: ContextView | null;

  @Field.time('When a worker first claimed it', { nullable: true }) started_at: string | null;
}

export class StopRuns {
  @Field.id('The run to stop; or name its chat', { optional: true }) call_id?: string;
  @Field.id('The chat whose run in flight is stopped', { optional: true, shown: true }) chat_id?: string;

  @Field.boolean('Also withdraw what waits in the chat', { optional: true, default: false, example: false })
  clear_queue?: boolean;
}

export class StoppedView {
  @Field.id('The runs that were stopped or withdrawn; empty when none was in flight', { list: true })
  stopped: string[];
}
