import { Field } from '../../platform/dto/index.js';

export const STEP_STATUSES = ['pending', 'in_progress', 'completed'] as const;
export const MAX_PLAN_STEPS = 50;

/** One thing to do. */
export class PlanStep {
  @Field.text('Its id, by which later plans name it', { min: 1, max: 64, example: '1' }) id: string;

  @Field.text('What is to be done, in a few words', { min: 1, max: 200, example: 'Read the failing test' })
  title: string;

  @Field.choice('How it stands', STEP_STATUSES) status: (typeof STEP_STATUSES)[number];
}

/** What a run means to do, and how far it is. */
export class PlanView {
  @Field.id('The run that set it') call_id: string;

  @Field.object('The steps, in order', () => PlanStep, { list: true, maxItems: MAX_PLAN_STEPS })
  items: PlanStep[];

  @Field.time('When it was set') updated_at: string;
}

declare global {
  interface ColumnTypes {
    'plan.items': PlanStep[];
  }
}

const MARKS: Record<PlanStep['status'], string> = { completed: 'x', in_progress: '>', pending: ' ' };

/** The plan as a model reads it: a line for each step. */
export function planText(items: readonly PlanStep[]): string {
  if (items.length === 0) return 'The plan is empty.';
  const done = items.filter(({ status }) => status === 'completed').length;
  const lines = items.map(({ id, title, status }) => `[${MARKS[status]}] ${id}: ${title}`);
  return [`Plan, ${done} of ${items.length} done:`, ...lines].join('\n');
}
