import { Field } from '../../platform/dto/index.js';
import { RUN_STATES } from '../agent/agent.dto.js';
import { AGENT_NAME, MODEL, RUN_STATUSES, TITLE } from '../chats/chats.dto.js';

/** A run that another one handed over as a task. */
export class TaskView {
  @Field.id('The run of the task')
  call_id: string;

  @Field.id('The chat that it has to itself')
  chat_id: string;

  @Field.text(
    "The model's id of the tool call whose result it is; null: the run started it through an action",
    {
      nullable: true,
      example: 'call_1',
    },
  )
  tool_call_id: string | null;

  @Field.text('The agent that works on it; empty: the default assistant', AGENT_NAME)
  agent_name: string;

  @Field.text('The task in a few words', { ...TITLE, example: 'Check dates' })
  description: string;

  @Field.choice('Whether it is in flight', RUN_STATUSES)
  status: string;

  @Field.choice('Where exactly it is', RUN_STATES)
  state: string;

  @Field.text('Why it ended', { nullable: true, example: 'end_turn' })
  stop_reason: string | null;

  @Field.text('The model asked for', MODEL)
  model: string;

  @Field.integer('Its model calls', { example: 2 })
  step_count: number;

  @Field.number('Its cost in USD, without its own tasks; null: a price is not known', {
    nullable: true,
    example: 0.0021,
  })
  cost_usd: number | null;

  @Field.time('When it was handed over')
  created_at: string;

  @Field.time('When it ended', { nullable: true })
  finished_at: string | null;
}
