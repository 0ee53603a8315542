import { ById, Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import { LANGUAGES } from '../../workspaces/sandboxes/index.js';
import { MODEL } from '../models/index.js';
import { AGENT_NAME } from '../subagents/index.js';
import { CONTEXTS, LOOP_STATES, OUTCOMES } from './records/index.js';

export const ON_APPROVAL = ['wait', 'refuse', 'fail'] as const;
export const STATUSES = ['pending', 'completed', 'error'] as const;

const UNTIL_EXAMPLE = { check: { run: 'bash', code: 'test -s report.md' } };

export class LoopBudgetInput {
  @Field.number('Most to spend on its runs and their grading, in USD', {
    min: 0,
    max: 1_000_000,
    optional: true,
    example: 2,
  })
  cost_usd?: number;

  @Field.integer(
    'Most seconds of work and grading; what waits for people or for the next iteration does not count',
    {
      min: 1,
      max: 2_592_000,
      optional: true,
      shown: true,
      example: 3600,
    },
  )
  max_seconds?: number;
}

export class CreateLoop extends WorkspaceId {
  @Field.text('What the agent is to do', {
    min: 1,
    max: 200_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Write report.md about the cities in cities.csv.',
  })
  prompt: string;

  @Field.json(
    'What must hold for it to be satisfied: {check, schema, rubric, grader_model}, of which all that is given must hold; or a text, which is a rubric. It is pinned: changes of the files do not change it',
    { example: UNTIL_EXAMPLE },
  )
  until: unknown;

  @Field.text("Subagent of the workspace's .agents/ folder; absent: the default assistant", {
    ...AGENT_NAME,
    optional: true,
  })
  agent_name?: string;

  @Field.text("Model; absent: the agent's, else the default", { ...MODEL, optional: true }) model?: string;

  @Field.integer('Most iterations', { min: 1, max: 50, optional: true, default: 5, example: 5 })
  max_iterations?: number;

  @Field.integer('Seconds between an iteration and the next', {
    min: 0,
    max: 86_400,
    optional: true,
    default: 0,
    example: 0,
  })
  interval_seconds?: number;

  @Field.object('Limits of all its iterations together', () => LoopBudgetInput, { optional: true })
  budget?: LoopBudgetInput;

  @Field.choice(
    'What an iteration sees of those before it: the conversation (continue), or only the files and what was not met (fresh)',
    CONTEXTS,
    { optional: true, default: 'continue' },
  )
  context?: (typeof CONTEXTS)[number];

  @Field.integer(
    'It ends as stalled when so many iterations in a row changed no file and met nothing more than the one before them',
    { min: 1, max: 50, optional: true, default: 3, example: 3 },
  )
  stall_after?: number;

  @Field.choice(
    'When a call needs an approval: wait for it, refuse the call and go on, or fail, which ends the loop; absent: as for a message',
    ON_APPROVAL,
    { optional: true, example: 'wait' },
  )
  on_approval?: (typeof ON_APPROVAL)[number];
}

export class ListLoops extends PageInput {
  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;

  @Field.choice('Only those that stand so', LOOP_STATES, { optional: true })
  state?: (typeof LOOP_STATES)[number];
}

export class WatchLoop extends ById({ id: 'The loop' }) {
  @Field.integer('Only events after this number; instead of Last-Event-ID', {
    min: 0,
    optional: true,
    example: 3,
  })
  after?: number;
}

export class ResumeLoop extends ById({ id: 'The loop' }) {
  @Field.integer('Most iterations in all, those it has had included; absent: as before', {
    min: 1,
    max: 500,
    optional: true,
    example: 10,
  })
  max_iterations?: number;

  @Field.object('Limits of all its iterations together; what is left out stays', () => LoopBudgetInput, {
    optional: true,
  })
  budget?: LoopBudgetInput;

  @Field.text('What the agent is told when it goes on, such as what it was blocked by', {
    max: 20_000,
    optional: true,
    example: 'The data is in data/cities.csv now.',
  })
  message?: string;
}

export class PinnedCheckView {
  @Field.choice('What runs it', LANGUAGES) run: string;

  @Field.text('The file that it was read from; null: it was given as it is', {
    nullable: true,
    example: 'checks/report.sh',
  })
  path: string | null;

  @Field.text('SHA-256 of its bytes', { example: 'b5bb9d80…' }) sha256: string;
  @Field.integer('How many bytes it has', { example: 120 }) bytes: number;
}

export class CriterionView {
  @Field.text('By which verdicts name it', { example: 'c1' }) id: string;
  @Field.text('What it asks for', { example: 'names each city with its country' }) text: string;
}

export class RubricView {
  @Field.text('As it was given', { example: '- names each city with its country' }) text: string;
  @Field.object('What is graded one by one', () => CriterionView, { list: true }) criteria: CriterionView[];
  @Field.text('The model that grades', MODEL) model: string;
}

export class GoalView {
  @Field.object('The check', () => PinnedCheckView, { nullable: true }) check: PinnedCheckView | null;
  @Field.json('The JSON Schema of the last message', { nullable: true, example: null }) schema: unknown;
  @Field.object('The rubric', () => RubricView, { nullable: true }) rubric: RubricView | null;
}

export class CheckResultView {
  @Field.choice('What was looked at', ['check', 'schema']) kind: string;
  @Field.boolean('Whether it holds') met: boolean;

  @Field.text('The end of what the check printed, or what is wrong by the schema', { example: 'exit code 1' })
  detail: string;
}

export class GradeView {
  @Field.text('The criterion', { example: 'c1' }) id: string;
  @Field.boolean('Whether it is met') met: boolean;
  @Field.text('What shows it', { example: 'report.md names Lima without its country' }) evidence: string;
}

export class VerdictView {
  @Field.object('Each criterion', () => GradeView, { list: true }) criteria: GradeView[];
  @Field.text('In a few words', { example: 'One city is without its country.' }) summary: string;
}

export class IterationView {
  @Field.integer('From 1', { example: 1 }) number: number;
  @Field.id('The run') call_id: string;

  @Field.text('Why the run ended; null: it is at work', { nullable: true, example: 'end_turn' })
  stop_reason: string | null;

  @Field.object('What the check and the schema said', () => CheckResultView, { list: true })
  checks: CheckResultView[];

  @Field.object('What the grader said; null where it was not asked', () => VerdictView, { nullable: true })
  verdict: VerdictView | null;

  @Field.text('What was not met: check, schema and ids of criteria; null: that is not known', {
    list: true,
    nullable: true,
    example: ['c1'],
  })
  unmet: string[] | null;

  @Field.number('Cost of the run and its tasks in USD; null where it is not known', {
    nullable: true,
    example: 0.02,
  })
  cost_usd: number | null;

  @Field.number('Cost of its grading in USD; null where it is not known', { nullable: true, example: 0.004 })
  grading_usd: number | null;

  @Field.time('When it began') started_at: string;
  @Field.time('When its run ended', { nullable: true }) ended_at: string | null;
  @Field.time('When it was graded', { nullable: true }) graded_at: string | null;
}

export class LoopView {
  @Field.id('The loop') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.id('The chat that its runs are in') chat_id: string;
  @Field.choice('Whether it goes on; error where it ended with that outcome', STATUSES) status: string;

  @Field.choice(
    'waiting: its next iteration is due at next_at; running: its agent is at work; grading: what it left is looked at; done: it has ended',
    LOOP_STATES,
  )
  state: string;

  @Field.choice('How it ended', OUTCOMES, { nullable: true }) outcome: string | null;

  @Field.text('Why it ended, in a sentence', { nullable: true, example: 'All that was pinned holds' })
  reason: string | null;

  @Field.text('What the agent is to do', { example: 'Write report.md about the cities in cities.csv.' })
  prompt: string;

  @Field.text('The subagent; null: the default assistant', { nullable: true, ...AGENT_NAME })
  agent_name: string | null;

  @Field.text('The model of its agent', MODEL) model: string;
  @Field.object('What must hold', () => GoalView) until: GoalView;
  @Field.choice('What an iteration sees of those before it', CONTEXTS) context: string;
  @Field.integer('Seconds between an iteration and the next', { example: 0 }) interval_seconds: number;

  @Field.integer('Iterations in a row without any change after which it ends as stalled', { example: 3 })
  stall_after: number;

  @Field.choice('When a call needs an approval', ON_APPROVAL, { nullable: true }) on_approval: string | null;
  @Field.integer('Most iterations', { example: 5 }) max_iterations: number;
  @Field.object('Limits of all its iterations together', () => LoopBudgetInput) budget: LoopBudgetInput;
  @Field.integer('The iteration that it is in; 0: it has not begun', { example: 1 }) iteration: number;
  @Field.id('The run of that iteration', { nullable: true }) call_id: string | null;

  @Field.number('Spent so far on runs and grading, in USD; null where a price is not known', {
    nullable: true,
    example: 0.024,
  })
  spent_usd: number | null;

  @Field.number('Seconds of work and grading so far', { example: 42.5 }) spent_seconds: number;
  @Field.time('When its next iteration is due', { nullable: true }) next_at: string | null;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it ended', { nullable: true }) finished_at: string | null;
}

export class LoopRecordView extends LoopView {
  @Field.object('Its iterations, in their order', () => IterationView, { list: true, maxItems: 500 })
  iterations: IterationView[];
}

export const LoopPage = PageOf(LoopView, 'LoopPage');
