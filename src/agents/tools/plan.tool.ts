import { Injectable, OnModuleInit } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import { Field } from '../../platform/dto/index.js';
import { Invalid, problemOf } from '../../platform/errors/index.js';
import { MAX_PLAN_STEPS, PlanStep, planText, STEP_STATUSES } from '../plans/index.js';
import { inputOf } from './field-fault.js';
import {
  failed,
  type ListedTool,
  type OpenTools,
  type ToolProvider,
  type ToolResult,
} from './tool-provider.js';
import { ToolProviders } from './toolbox.js';

class GivenStep {
  @Field.text('Its id in the plan so far; absent: a new step', {
    min: 1,
    max: 64,
    optional: true,
    example: '1',
  })
  id?: string;

  @Field.text('What is to be done, in a few words', {
    min: 1,
    max: 200,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Read the failing test',
  })
  title: string;

  @Field.choice('How it stands', STEP_STATUSES) status: PlanStep['status'];
}

class PlanInput {
  @Field.object('All steps, in order: they replace the plan so far', () => GivenStep, {
    list: true,
    maxItems: MAX_PLAN_STEPS,
  })
  items: GivenStep[];
}

const PLAN = 'plan';

const OFFER = {
  name: PLAN,
  description:
    'Set the plan of this run, which the people who follow it see: all steps, each pending, in_progress (one at most) or completed. ' +
    'For work of three steps or more: set it before you begin, and again whenever a step begins or ends.',
  brief: 'Set the steps of your work, which people follow: all of them, at most one in_progress.',
  schema: inputSchemaOf(PlanInput),
  told: { items: '', 'items.title': '', 'items.status': '' },
};

/** The tool by which a model says what it means to do, and how far it is. */
@Injectable()
export class PlanTool implements ToolProvider, OnModuleInit {
  readonly kind = 'plan';
  readonly names = [PLAN];

  constructor(private readonly providers: ToolProviders) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list(): Promise<ListedTool[]> {
    return [{ ...OFFER, effect: 'read', reason: null, agentsOnly: true }];
  }

  open({ guide }: Parameters<ToolProvider['open']>[0]): OpenTools {
    return { offered: guide.allows(PLAN) ? [OFFER] : [], call: async (_, input) => set(input) };
  }
}

function set(input: unknown): ToolResult {
  try {
    const plan = stepsOf(inputOf(PLAN, PlanInput, input));
    return { output: planText(plan), isError: false, plan };
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    return failed(problem.detail);
  }
}

/** Throws Invalid where ids come twice, or more than one step is in progress. */
function stepsOf({ items }: PlanInput): PlanStep[] {
  const given = items.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const taken = new Set(given);
  const twice = given.find((id, index) => given.indexOf(id) !== index);
  if (twice !== undefined) throw new Invalid(`items: the id ${twice} comes twice`);
  const begun = items.filter(({ status }) => status === 'in_progress');
  if (begun.length > 1)
    throw new Invalid(`items: ${begun.length} steps are in_progress, and one may be; set the others pending`);
  let next = 1;
  const free = () => {
    while (taken.has(String(next))) next += 1;
    taken.add(String(next));
    return String(next);
  };
  return items.map(({ id = free(), title, status }) => ({ id, title: title.trim(), status }));
}
