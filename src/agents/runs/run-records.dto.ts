import { ById, Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { FileChangeView, RevertedView } from '../../workspaces/history/index.js';
import { RUN_STATUSES, TITLE } from '../chats/index.js';
import { AGENT_NAME } from '../subagents/index.js';
import { RunHeadView, RunStatusView, UsageView } from './runs.dto.js';

export class ListRuns extends PageInput {
  @Field.id('Only those of this chat', { optional: true }) chat_id?: string;
  @Field.id('Only those of this workspace', { optional: true, shown: true }) workspace_id?: string;
  @Field.id('Only the tasks that this run handed over', { optional: true }) parent_call_id?: string;
  @Field.choice('Only those that stand so', RUN_STATUSES, { optional: true }) status?: string;
}

export class RunSummaryView extends RunHeadView {
  @Field.id('Its workspace', { nullable: true }) workspace_id: string | null;
  @Field.id('The run that handed it over as a task', { nullable: true }) parent_call_id: string | null;
  @Field.text('The subagent that answers', { nullable: true, example: 'reviewer' }) agent_name: string | null;
  @Field.id('On whose authority it acts') created_by: string;
}

export const RunPage = PageOf(RunSummaryView, 'RunPage');

export class RollbackRun extends ById({ call_id: 'The run' }) {
  @Field.boolean('Leave files alone that somebody changed since, instead of refusing', {
    optional: true,
    default: false,
    example: false,
  })
  skip_changed?: boolean;
}

/** What came of taking a run's changes to files back. */
export class RolledBackView extends RevertedView {
  @Field.id('The run') call_id: string;
}

export class RunStepView {
  @Field.integer('Its number, from 1', { example: 1 }) number: number;
  @Field.text('Why the model ended it', { example: 'tool-calls' }) finish_reason: string;
  @Field.text('The model that answered', { nullable: true, example: 'atelier/demo' }) model: string | null;

  @Field.text('The model that answered, as its provider names it', { nullable: true, example: 'demo' })
  model_used: string | null;

  @Field.json('Tokens of it', { example: { input_tokens: 67, output_tokens: 15 } }) usage: unknown;

  @Field.number('Its cost in USD; null: a price is not known', { nullable: true, example: 0.0004 })
  cost_usd: number | null;

  @Field.time('When it began') started_at: string;
  @Field.time('When it ended') finished_at: string;
}

/** Older messages of the chat were summarized to make room for more; the messages themselves stay. */
export class CompactionView {
  @Field.integer('The step before which it happened', { example: 4 }) step: number;
  @Field.integer('How many messages were summarized', { example: 12 }) messages: number;
  @Field.integer('Tokens of the conversation before, about', { example: 180000 }) tokens_before: number;
  @Field.integer('Tokens of it after that, about', { example: 21000 }) tokens_after: number;

  @Field.text('The model that wrote the summary; null: none did', { nullable: true, example: 'atelier/demo' })
  model: string | null;

  @Field.object('Tokens that the summary took', () => UsageView, { nullable: true }) usage: UsageView | null;

  @Field.number('What the summary cost, in USD; null: a price is not known', {
    nullable: true,
    example: 0.03,
  })
  cost_usd: number | null;

  @Field.time('When it was written') created_at: string;
}

/** The whole record of a run. */
export class RunRecordView extends RunStatusView {
  @Field.id('Its workspace', { nullable: true }) workspace_id: string | null;
  @Field.id('The run that handed it over as a task', { nullable: true }) parent_call_id: string | null;

  @Field.text('The subagent that answered', { nullable: true, example: 'reviewer' })
  agent_name: string | null;

  @Field.text('Models that were to be asked where the first could not answer', {
    list: true,
    example: ['atelier/demo'],
  })
  fallback_models: string[];

  @Field.text('The model that answered, as its provider names it', { nullable: true, example: 'demo' })
  model_used: string | null;

  @Field.id('On whose authority it acts') created_by: string;
  @Field.integer('How often a worker took it up', { example: 1 }) attempts: number;
  @Field.object('Its model calls', () => RunStepView, { list: true }) steps: RunStepView[];

  @Field.object('When its context was made shorter', () => CompactionView, { list: true })
  compactions: CompactionView[];

  @Field.object('The tasks that it handed to subagents', () => TaskView, { list: true }) tasks: TaskView[];
  @Field.integer('Model calls, those of its tasks included', { example: 4 }) total_steps: number;

  @Field.number('Cost in USD, that of its tasks included; null: a price is not known', {
    nullable: true,
    example: 0.0042,
  })
  total_cost_usd: number | null;

  @Field.object(
    'Files that it and its tasks changed, with how they were before and after: up to 1000 (GET …/files/history?run_id= has all of one run)',
    () => FileChangeView,
    { list: true },
  )
  files_changed: FileChangeView[];
}

/** A run that another one handed over as a task. */
export class TaskView extends RunHeadView {
  @Field.text(
    "The model's id of the tool call whose result it is; null: the run started it through an action",
    { nullable: true, example: 'call_1' },
  )
  tool_call_id: string | null;

  @Field.text('The agent that works on it; empty: the default assistant', AGENT_NAME) agent_name: string;
  @Field.text('The task in a few words', { ...TITLE, example: 'Check dates' }) description: string;
  @Field.integer('Its model calls', { example: 2 }) step_count: number;
}
